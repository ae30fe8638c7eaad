#include "coordinator/planners/rivals/hetauto/hetauto_planner.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"
#include "coordinator/planners/rivals/hetauto/hetauto_request.h"
#include "coordinator/planners/rivals/hetauto/hetauto_search.h"
#include "coordinator/planners/rivals/listed/listed_search.h"
#include "coordinator/planners/rivals/listed/recompute_choice.h"

namespace tangram {
namespace {

using Type = PlannerOption::Type;

constexpr char kHetAutoName[] = "hetauto";

// Proposals beyond are of little use: they are predicted to be far slower.
constexpr size_t kMostHetAutoProposals = 256;

struct HetAutoOptions {
  UctOptions search;
  int max_samples = 8;
  std::vector<LayerRecompute> recompute;  // Tried in turn, until plans fit.
};

HetAutoOptions HetAutoOptionsOf(const PlannerOptionValues& values) {
  return {
      .search = {.iterations = static_cast<int>(values.Integer("iterations")),
                 .exploration = values.Number("exploration"),
                 .guidance = values.Number("guidance"),
                 .seed = static_cast<uint32_t>(values.Integer("seed"))},
      .max_samples = static_cast<int>(values.Integer("max_samples")),
      .recompute = RecomputesToTry(values.Choice("recompute"))};
}

// Lists the plans of one request.
class HetAutoLister {
 public:
  explicit HetAutoLister(HetAutoOptions options)
      : options_(std::move(options)) {}

  absl::StatusOr<ListedPlans> PlansFor(const PlanRequest& request,
                                       const std::vector<Island>& islands,
                                       PlanObserver& observer) const {
    TANGRAM_RETURN_IF_ERROR(MicrobatchSizes(request).status());
    const auto shared = std::make_shared<const std::vector<Island>>(islands);
    ListedPlans plans;
    for (const LayerRecompute recompute : options_.recompute) {
      TANGRAM_RETURN_IF_ERROR(Search(request, shared,
                                     recompute == LayerRecompute::kWholeLayer,
                                     observer, plans));
    }
    plans.limits.push_back(
        "the tree search is random: --planner-option iterations, seed and "
        "max_samples lead to other plans");
    return plans;
  }

 private:
  // Adds the plans with or without recomputation behind those in `plans`.
  absl::Status Search(const PlanRequest& request,
                      std::shared_ptr<const std::vector<Island>> islands,
                      bool recompute, PlanObserver& observer,
                      ListedPlans& plans) const {
    observer.OnPhase(PlanPhase::kProfiling);
    const HetAutoInput input =
        HetAutoInputFor(request, *islands, options_.max_samples, recompute);
    observer.OnPhase(PlanPhase::kComposition);
    const HetAutoPlans found = SearchHetAuto(
        input, options_.search, [&] { return observer.ShouldStop(); });
    if (found.stopped) return absl::CancelledError("planning stopped");
    const size_t most = std::min(found.plans.size(), kMostHetAutoProposals);
    for (size_t i = 0; i < most; ++i) {
      plans.proposals.push_back(
          {.make_plan =
               [&request, islands, recompute, plan = found.plans[i].plan] {
                 PipelinePlan pipeline =
                     PipelineOf(request, *islands, plan, recompute);
                 NamePlaces(*islands, kHetAutoName, pipeline);
                 return pipeline;
               },
           .predicted_s = found.plans[i].iteration_s});
    }
    const char* const how = recompute ? "full" : "no";
    plans.notes.push_back(absl::StrCat(
        "planner hetauto, a stand-in: plans with ", how,
        " recomputation that fit by its closed form: ", found.plans.size(),
        ", seed ", options_.search.seed));
    if (found.plans.empty()) {
      plans.why_none = {
          .reason = absl::StrCat(
              found.bytes_short > 0
                  ? "no plan of HetAuto's kind found fits in memory with "
                  : "no degrees suit all GPUs and layers with ",
              how, " recomputation"),
          .bytes_short = found.bytes_short};
    }
    return absl::OkStatus();
  }

  const HetAutoOptions options_;
};

PlannerOption HetAutoNumber(Type type, std::string name, double value,
                            std::string description, double least,
                            double most) {
  return {.name = std::move(name),
          .type = type,
          .default_value = absl::StrCat(value),
          .description = std::move(description),
          .least = least,
          .most = most};
}

}  // namespace

PlannerInfo HetAutoPlanner() {
  const UctOptions usual;
  return {
      .name = kHetAutoName,
      .description =
          "HetAuto-style: tree search over degrees and layers of each island",
      .origin = "after the description of HetAuto, EuroSys 2026",
      .features = {.heterogeneous = true},
      .options =
          {RecomputeOption("full if nothing fits without"),
           HetAutoNumber(Type::kInteger, "iterations", usual.iterations,
                         "visits so many leaves of the tree", 1, 1e7),
           HetAutoNumber(Type::kNumber, "exploration", usual.exploration,
                         "weighs the bound of actions that were seldom tried",
                         0, 100),
           HetAutoNumber(Type::kNumber, "guidance", usual.guidance,
                         "follows the principles with this probability", 0, 1),
           HetAutoNumber(Type::kInteger, "max_samples", 8,
                         "tries microbatches of powers of two samples for a "
                         "replica up to this",
                         1, 1024),
           HetAutoNumber(Type::kInteger, "seed", usual.seed,
                         "seeds the random numbers", 0, 4294967295.0)},
      .apply = ProposeUnpolished,
      .create = [](SlicePlanSource&, const TangramOptions&,
                   const PlannerOptionValues& values, const PipelineRules&) {
        return CreateListedPlanner(
            [lister = HetAutoLister(HetAutoOptionsOf(values))](
                const PlanRequest& request, const std::vector<Island>& islands,
                PlanObserver& observer) {
              return lister.PlansFor(request, islands, observer);
            },
            ProposeInOrder);
      }};
}

}  // namespace tangram
