#include "coordinator/planners/builtin/builtin_planners.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/infinity.h"
#include "coordinator/planners/rivals/amp/amp_planner.h"
#include "coordinator/planners/rivals/harp/harp_planner.h"
#include "coordinator/planners/rivals/hetauto/hetauto_planner.h"
#include "coordinator/planners/rivals/hexiscale/hexiscale_planner.h"
#include "coordinator/planners/rivals/megatron_uniform/megatron_uniform_planner.h"
#include "coordinator/planners/rivals/metis/metis_planner.h"
#include "coordinator/planners/rivals/sailor/sailor_planner.h"
#include "coordinator/planners/tangram/tangram_planner.h"
#include "coordinator/planners/whole_cluster/whole_cluster_planner.h"

namespace tangram {
namespace {

using Type = PlannerOption::Type;

// An option of the tangram planner and its field of TangramOptions.
struct SharedNumber {
  PlannerOption option;
  double& (*field)(TangramOptions&);
};
struct SharedSwitch {
  PlannerOption option;
  bool& (*field)(TangramOptions&);
};

PlannerOption EffortOption() {
  return {.name = "max_search_steps",
          .type = Type::kInteger,
          .default_value = absl::StrCat(TangramOptions().max_search_steps),
          .description =
              "search effort for a slice that is the whole model, "
              "in the parallelizer's steps",
          .least = 1,
          .most = 9e18};
}

PlannerOption Fraction(std::string name, double value, std::string description,
                       double most = kInfinity) {
  return {.name = std::move(name),
          .type = Type::kNumber,
          .default_value = absl::StrCat(value),
          .description = std::move(description),
          .least = 0,
          .most = most};
}

PlannerOption Switch(std::string name, std::string description,
                     bool value = true) {
  return {.name = std::move(name),
          .type = Type::kBool,
          .default_value = value ? "true" : "false",
          .description = std::move(description)};
}

std::vector<SharedNumber> TangramNumbers() {
  const TangramOptions usual;
  return {
      {Fraction(
           "finalist_slack", usual.finalist_slack,
           "score whole plans within this fraction of the best closed form",
           kMaxFinalistSlack),
       [](TangramOptions& o) -> double& { return o.finalist_slack; }},
      {Fraction("min_island_gain", usual.min_island_gain,
                "use more islands only if they are faster by this fraction"),
       [](TangramOptions& o) -> double& { return o.min_island_gain; }},
      {Fraction("compute_tolerance", usual.tolerances.compute,
                "relative spread of peak throughput inside an island"),
       [](TangramOptions& o) -> double& { return o.tolerances.compute; }},
      {Fraction("memory_tolerance", usual.tolerances.memory,
                "relative spread of memory per GPU inside an island"),
       [](TangramOptions& o) -> double& { return o.tolerances.memory; }},
      {Fraction("intra_node_tolerance", usual.tolerances.intra_node,
                "relative spread of bandwidth inside nodes"),
       [](TangramOptions& o) -> double& { return o.tolerances.intra_node; }},
      {Fraction("inter_node_tolerance", usual.tolerances.inter_node,
                "how much slower than links that leave it the links of an "
                "island may be"),
       [](TangramOptions& o) -> double& { return o.tolerances.inter_node; }},
  };
}

std::vector<SharedSwitch> TangramSwitches() {
  const TangramOptions usual;
  return {
      {Switch("prune_redundant", "ask once for equal slices and islands"),
       [](TangramOptions& o) -> bool& { return o.pruning.redundancy; }},
      {Switch("prune_imbalanced", "drop slices too big or small for an island"),
       [](TangramOptions& o) -> bool& { return o.pruning.imbalance; }},
      {Switch("prune_infeasible", "drop slices that cannot fit in memory"),
       [](TangramOptions& o) -> bool& { return o.pruning.infeasibility; }},
      {Switch("prune_incompatible",
              "drop slices that fit no position in a pipeline"),
       [](TangramOptions& o) -> bool& { return o.pruning.incompatibility; }},
      {Switch("early_stop", "search smaller slices with less effort"),
       [](TangramOptions& o) -> bool& { return o.pruning.early_stop; }},
      {Switch("polish",
              "change borders of stages, recomputation, offloading and ZeRO "
              "where it helps",
              usual.polish),
       [](TangramOptions& o) -> bool& { return o.polish; }},
      {Switch("schedules",
              "polish under other schedules than 1f1b too, where the runtime "
              "runs them",
              usual.schedules),
       [](TangramOptions& o) -> bool& { return o.schedules; }},
  };
}

void ApplyEffort(const PlannerOptionValues& values, TangramOptions& search) {
  if (values.IsGiven("max_search_steps")) {
    search.max_search_steps = values.Integer("max_search_steps");
  }
}

PlannerOption PipelinesOption() {
  return {.name = "max_pipelines",
          .type = Type::kInteger,
          .default_value = absl::StrCat(TangramOptions().max_pipelines),
          .description =
              "plan up to so many pipelines that share each batch, "
              "for no framework or one that trains several",
          .least = 1,
          .most = kMostPipelines};
}

void ApplyTangram(const PlannerOptionValues& values, TangramOptions& search) {
  ApplyEffort(values, search);
  if (values.IsGiven("max_pipelines")) {
    search.max_pipelines = static_cast<int>(values.Integer("max_pipelines"));
  }
  for (const SharedNumber& shared : TangramNumbers()) {
    const std::string& name = shared.option.name;
    if (values.IsGiven(name)) shared.field(search) = values.Number(name);
  }
  for (const SharedSwitch& shared : TangramSwitches()) {
    const std::string& name = shared.option.name;
    if (values.IsGiven(name)) shared.field(search) = values.Bool(name);
  }
}

PlannerInfo Tangram() {
  PlannerInfo planner{
      .name = "tangram",
      .description = "composes slice plans of homogeneous islands",
      .origin = "Tangram, the paper's planner",
      .features = {.parallelizers = true,
                   .mixes_parallelizers = true,
                   .heterogeneous = true,
                   .leaves_out_gpus = true,
                   .constraints = true,
                   .runtimes = true,
                   .lower_bound = true},
      .options = {EffortOption(), PipelinesOption()},
      .apply = ApplyTangram,
      .create = [](SlicePlanSource& source, const TangramOptions& search,
                   const PlannerOptionValues&, const PipelineRules& rules) {
        return CreateTangramPlanner(source, search, rules);
      }};
  for (SharedNumber& shared : TangramNumbers()) {
    planner.options.push_back(std::move(shared.option));
  }
  for (SharedSwitch& shared : TangramSwitches()) {
    planner.options.push_back(std::move(shared.option));
  }
  return planner;
}

NodeOrder NodeOrderOf(const std::string& choice) {
  return choice == "fastest-first"   ? NodeOrder::kFastestFirst
         : choice == "slowest-first" ? NodeOrder::kSlowestFirst
                                     : NodeOrder::kAsListed;
}

PlannerInfo WholeCluster() {
  return {
      .name = "whole-cluster",
      .description =
          "plans as if every GPU were the weakest and every link "
          "the slowest",
      .origin = "homogeneous baseline of the paper's evaluation",
      .features = {.parallelizers = true,
                   .constraints = true,
                   .runtimes = true},
      .options = {EffortOption(),
                  {.name = "node_order",
                   .type = Type::kChoice,
                   .default_value = "listed",
                   .description = "which nodes the first stages take",
                   .choices = {"listed", "fastest-first", "slowest-first"}}},
      .apply =
          [](const PlannerOptionValues& values, TangramOptions& search) {
            ApplyEffort(values, search);
            search.polish = false;  // A baseline is what its parallelizer made.
          },
      .create =
          [](SlicePlanSource& source, const TangramOptions& search,
             const PlannerOptionValues& values, const PipelineRules& rules) {
            return CreateWholeClusterPlanner(
                source,
                {.max_search_steps = search.max_search_steps,
                 .node_order = NodeOrderOf(values.Choice("node_order"))},
                rules);
          }};
}

}  // namespace

const PlannerRegistry& BuiltinPlanners() {
  static const PlannerRegistry* const registry = [] {
    auto* planners = new PlannerRegistry;
    planners->Register(Tangram());
    planners->Register(WholeCluster());
    planners->Register(AmpPlanner());
    planners->Register(HarpPlanner());
    planners->Register(HetAutoPlanner());
    planners->Register(HexiscalePlanner());
    planners->Register(MegatronUniformPlanner());
    planners->Register(MetisPlanner());
    planners->Register(SailorPlanner());
    return planners;
  }();
  return *registry;
}

}  // namespace tangram
