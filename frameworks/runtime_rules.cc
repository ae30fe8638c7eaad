#include "frameworks/runtime_rules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "frameworks/export_plan.h"
#include "frameworks/targets.h"

namespace tangram {
namespace {

using Shared = RuntimeRules::Shared;
using EqualEnds = RuntimeRules::EqualEnds;

// Searches over whole layers; each finds plans that the others do not.
constexpr absl::string_view kLayerwise = "galvatron,hypertron,uniform";

// In the order of ExportTargets.
constexpr RuntimeRules kRules[] = {
    {.name = "flagscale",
     .parallelizers = kLayerwise,
     .moe_parallelizers = kLayerwise,
     .stage = {.name = "FlagScale",
               .context_parallel = true,
               .expert_parallel = true,
               .max_zero_stage = 1},
     .limits = {.max_zero_stage = 1, .no_offload = true},
     .shared = Shared::kCp,
     .equal_ends = EqualEnds::kTiedEmbeddings,
     .check = CheckForMegatron},
    {.name = "aceso",
     .parallelizers = "aceso",
     .moe_parallelizers = "uniform",  // Any; CheckForAceso refuses experts.
     .stage = {.name = "FlexPipe",
               .operator_cuts = true,
               .operator_recompute = true},
     .limits = {.cp_degree = 1,
                .max_zero_stage = 0,
                .no_sequence_parallel = true,
                .no_offload = true},
     .accepts_gpus = AcesoAcceptsGpus,
     .check = CheckForAceso,
     .train = TrainingUnderAceso},
    {.name = "megatron",
     .parallelizers = kLayerwise,
     .moe_parallelizers = kLayerwise,
     .stage = {.name = "Megatron-LM",
               .expert_parallel = true,
               .max_zero_stage = 1},
     .limits = {.cp_degree = 1, .max_zero_stage = 1, .no_offload = true},
     .shared = Shared::kTpAndDp,
     .check = CheckForMegatron},
    {.name = "galvatron",
     .parallelizers = "galvatron,uniform",
     .moe_parallelizers = "galvatron,uniform",
     .stage = {.name = "Galvatron",
               .context_parallel = true,
               .expert_parallel = true,
               .max_zero_stage = 3},
     .limits = {.no_offload = true},
     .shared = Shared::kGpus,
     .equal_ends = EqualEnds::kAlways,
     .check = CheckForGalvatron,
     .train = TrainingUnderGalvatron},
    {.name = "sailor",
     .parallelizers = kLayerwise,
     .moe_parallelizers = "uniform",
     .stage = {.name = "Sailor"},
     .limits = {.cp_degree = 1,
                .max_zero_stage = 0,
                .no_sequence_parallel = true,
                .no_offload = true},
     .shared = Shared::kDp,
     .equal_ends = EqualEnds::kTiedEmbeddings,
     .check = CheckForSailor,
     .train = TrainingUnderSailor},
    {.name = "flashflex",
     .parallelizers = kLayerwise,
     .moe_parallelizers = "uniform",
     .stage = {.name = "FlashFlex"},
     .limits = {.cp_degree = 1,
                .max_zero_stage = 0,
                .no_sequence_parallel = true,
                .no_offload = true},
     .shared = Shared::kDp,
     .check = CheckForFlashFlex,
     .train = TrainingUnderFlashFlex},
    {.name = "torchtitan",
     .parallelizers = kLayerwise,
     .moe_parallelizers = kLayerwise,
     .stage = {.name = "torchtitan",
               .expert_parallel = true,
               .max_zero_stage = 3},
     .limits = {.cp_degree = 1, .no_offload = true},
     .shared = Shared::kTpAndDp,
     .check = CheckForTorchTitan,
     .train = TrainingUnderTorchTitan},
    {.name = "alpa",
     .parallelizers = kLayerwise,
     .moe_parallelizers = kLayerwise,
     .stage = {.name = "Alpa"},
     .limits = {.cp_degree = 1,
                .max_zero_stage = 0,
                .no_sequence_parallel = true,
                .no_offload = true},
     .shared = Shared::kGpusPerNode,
     .train = TrainingUnderAlpa},
};

// Degrees and sizes that stages can have on some island.
struct StageChoices {
  std::set<int> tp;
  std::set<int> dp;
  std::set<int> gpus;
  std::set<std::pair<int, int>> tp_and_dp;
  std::set<int> gpus_per_node;
};

// Returns whether the GPUs are whole nodes or an equal share of one.
bool FitsNodes(int num_gpus, int gpus_per_node) {
  return num_gpus < gpus_per_node ? gpus_per_node % num_gpus == 0
                                  : num_gpus % gpus_per_node == 0;
}

// Returns the degrees and sizes of stages that occur on some island: stages of
// dp · tp GPUs that fit the nodes, with tp inside a node and dp dividing the
// global batch.
StageChoices ChoicesOn(absl::Span<const IslandSpec> islands,
                       const TrainingOptions& training,
                       absl::Span<const int> more_tp) {
  StageChoices choices;
  for (const IslandSpec& island : islands) {
    choices.gpus_per_node.insert(island.gpus_per_node);
    std::set<int> all_tp(more_tp.begin(), more_tp.end());
    for (int tp = 1; tp <= island.gpus_per_node; tp *= 2) all_tp.insert(tp);
    for (int gpus = 1; gpus <= island.num_gpus(); ++gpus) {
      if (!FitsNodes(gpus, island.gpus_per_node)) continue;
      for (const int tp : all_tp) {
        const int dp = gpus / tp;
        if (std::min(gpus, island.gpus_per_node) % tp != 0 ||
            training.global_batch_size % dp != 0) {
          continue;
        }
        choices.tp.insert(tp);
        choices.dp.insert(dp);
        choices.gpus.insert(gpus);
        choices.tp_and_dp.insert({tp, dp});
      }
    }
  }
  return choices;
}

// Returns the powers of two that divide the sequence into two parts a rank.
std::vector<int> CpDegrees(const TrainingOptions& training, int most) {
  std::vector<int> degrees = {1};
  for (int cp = 2; cp <= most; cp *= 2) {
    if (training.sequence_length % (2 * cp) == 0) degrees.push_back(cp);
  }
  return degrees;
}

// Returns a variant for each value of what the stages share.
std::vector<RuntimeVariant> OfShared(const RuntimeRules& rules,
                                     const TrainingOptions& training,
                                     const StageChoices& choices) {
  const RuntimeVariant any{.stages = rules.limits};
  std::vector<RuntimeVariant> variants;
  const auto add = [&]() -> RuntimeVariant& {
    return variants.emplace_back(any);
  };
  switch (rules.shared) {
    case Shared::kNothing:
      add();
      break;
    case Shared::kCp:
      for (const int cp : CpDegrees(training, *choices.gpus.rbegin())) {
        add().stages.cp_degree = cp;
      }
      break;
    case Shared::kDp:
      for (const int dp : choices.dp) add().stages.dp_degree = dp;
      break;
    case Shared::kGpus:
      for (const int gpus : choices.gpus) add().stages.gpus_per_stage = gpus;
      break;
    case Shared::kTpAndDp:
      for (const auto& [tp, dp] : choices.tp_and_dp) {
        StageLimits& stages = add().stages;
        stages.tp_degree = tp;
        stages.dp_degree = dp;
      }
      break;
    case Shared::kGpusPerNode:
      for (const int gpus : choices.gpus_per_node) add().gpus_per_node = gpus;
      break;
  }
  return variants;
}

}  // namespace

absl::Span<const RuntimeRules> AllRuntimeRules() { return kRules; }

absl::StatusOr<const RuntimeRules*> FindRuntimeRules(absl::string_view name) {
  for (const RuntimeRules& rules : kRules) {
    if (rules.name == name) return &rules;
  }
  return FieldError(
      "constraints.runtime", name,
      absl::StrCat("one of ", absl::StrJoin(kRules, ", ",
                                            [](std::string* out,
                                               const RuntimeRules& rules) {
                                              absl::StrAppend(out, rules.name);
                                            })));
}

std::vector<RuntimeVariant> VariantsOf(const RuntimeRules& rules,
                                       const ModelSpec& model,
                                       const TrainingOptions& training,
                                       absl::Span<const IslandSpec> islands,
                                       absl::Span<const int> more_tp) {
  const StageChoices choices = ChoicesOn(islands, training, more_tp);
  std::vector<RuntimeVariant> variants = OfShared(rules, training, choices);
  const bool equal_ends = rules.equal_ends == EqualEnds::kAlways ||
                          (rules.equal_ends == EqualEnds::kTiedEmbeddings &&
                           model.layers.back().tied_embeddings);
  if (!equal_ends) return variants;
  std::vector<RuntimeVariant> with_ends;
  for (const RuntimeVariant& variant : variants) {
    for (const int tp : choices.tp) {
      with_ends.emplace_back(variant).ends.tp_degree = tp;
    }
  }
  return with_ends;
}

// Exports the plan twice. The first export removes what the framework cannot
// run. If the second still has losses, the framework changes the plan again.
absl::StatusOr<PipelinePlan> FitPlan(const RuntimeRules& rules,
                                     const PlannedTraining& planned) {
  TANGRAM_ASSIGN_OR_RETURN(FrameworkExport first,
                           ExportPlan(rules.name, planned));
  if (first.losses.empty()) return std::move(first.plan);
  PlannedTraining again = planned;
  again.training = first.training;
  again.plan = std::move(first.plan);
  TANGRAM_ASSIGN_OR_RETURN(FrameworkExport second,
                           ExportPlan(rules.name, again));
  if (second.losses.empty()) return std::move(again.plan);
  return absl::InvalidArgumentError(
      absl::StrCat(rules.name, ": ", second.losses.front()));
}

}  // namespace tangram
