#include "coordinator/planners/rivals/hexiscale/hexiscale_planner.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"
#include "coordinator/planners/rivals/hexiscale/hexiscale_request.h"
#include "coordinator/planners/rivals/hexiscale/hexiscale_search.h"
#include "coordinator/planners/rivals/listed/listed_search.h"

namespace tangram {
namespace {

using Type = PlannerOption::Type;

constexpr char kName[] = "hexiscale";

// The graph of all pairs of GPUs is too large beyond.
constexpr int kMostGpus = 2048;

// Proposals beyond are of little use: they are predicted to be far slower.
constexpr size_t kMostProposals = 256;

struct HexiscaleOptions {
  bool as_released = false;
  bool recompute = true;
  int max_microbatch = 8;
  int first_pipelines = 1;
  int iterations = 0;
  uint32_t seed = 0;
};

HexiscaleOptions OptionsOf(const PlannerOptionValues& values) {
  return {
      .as_released = values.Choice("mode") == "upstream",
      .recompute = values.Bool("recompute"),
      .max_microbatch = static_cast<int>(values.Integer("max_microbatch")),
      .first_pipelines = static_cast<int>(values.Integer("first_pipelines")),
      .iterations = static_cast<int>(values.Integer("iterations")),
      .seed = static_cast<uint32_t>(values.Integer("seed"))};
}

// Returns the microbatch sizes to try: powers of two that divide the batch.
std::vector<int> SizesFor(int global_batch_size, int most) {
  std::vector<int> sizes;
  for (int size = 1; size <= most && global_batch_size % size == 0; size *= 2) {
    sizes.push_back(size);
  }
  return sizes;
}

// Lists the plans of one request.
class HexiscaleLister {
 public:
  explicit HexiscaleLister(const HexiscaleOptions& options)
      : options_(options) {}

  absl::StatusOr<ListedPlans> PlansFor(const PlanRequest& request,
                                       const std::vector<Island>& islands,
                                       PlanObserver& observer) const {
    TANGRAM_RETURN_IF_ERROR(MicrobatchSizes(request).status());
    ListedPlans plans;
    if (request.cluster->num_gpus() > kMostGpus) {
      plans.why_none = {.reason =
                            absl::StrCat("planner hexiscale divides at most ",
                                         kMostGpus, " GPUs, here there are ",
                                         request.cluster->num_gpus())};
      return plans;
    }
    const std::vector<int> sizes =
        SizesFor(request.training.global_batch_size, options_.max_microbatch);
    observer.OnPhase(PlanPhase::kProfiling);
    const LayerProfiles profiles =
        ProfileLayers(request.model, request.cluster, request.training,
                      {.max_tp_degree = 1, .max_samples = sizes.back()});
    observer.OnPhase(PlanPhase::kComposition);
    std::vector<HexiscaleInput> inputs;
    for (const int size : sizes) {
      inputs.push_back(InputFor(request, profiles, size));
      SetOptions(inputs.back());
    }
    const HexiscalePlans found =
        SearchHexiscale(inputs, [&] { return observer.ShouldStop(); });
    if (found.stopped) return absl::CancelledError("planning stopped");
    for (const HexiscalePlan& plan : found.plans) {
      if (plans.proposals.size() == kMostProposals) break;
      AddProposal(request, islands, inputs[plan.input], plan, plans);
    }
    if (plans.proposals.empty()) plans.why_none = WhyNone(found);
    plans.notes.push_back(
        absl::StrCat("planner hexiscale: ", found.plans.size(),
                     " plans by its closed form, microbatches of ",
                     absl::StrJoin(sizes, ", "), ", seed ", options_.seed));
    plans.limits.push_back(
        "HexiScale's search is random: --planner-option iterations, seed and "
        "max_microbatch lead to other plans");
    return plans;
  }

  Infeasible WhyNone(const HexiscalePlans& found) const {
    if (!found.plans.empty()) {
      return {.reason = absl::StrCat(
                  "none of the ", found.plans.size(),
                  " plans of HexiScale can share the batch among its "
                  "pipelines")};
    }
    return {.reason = absl::StrCat("HexiScale found no pipelines within its "
                                   "memory model in ",
                                   options_.iterations, " iterations"),
            .bytes_short = found.bytes_short};
  }

 private:
  void SetOptions(HexiscaleInput& input) const {
    input.recompute = options_.recompute;
    input.first_pipelines = options_.first_pipelines;
    input.iterations = options_.iterations;
    input.seed = options_.seed;
    if (!options_.as_released) return;
    input.defects = HexiscaleDefects::AsReleased();
    input.model.state_bytes = HexiscaleModel().state_bytes;
    input.model.pass_bytes = 0;
    input.model.head_pass_bytes = 0;
    input.microbatch_size *= options_.first_pipelines;
  }

  // Leaves out plans that are none of the batch.
  static void AddProposal(const PlanRequest& request,
                          const std::vector<Island>& islands,
                          const HexiscaleInput& input,
                          const HexiscalePlan& plan, ListedPlans& plans) {
    absl::StatusOr<Proposal> proposal = ProposalOf(request, input, plan);
    if (!proposal.ok()) return;
    if (proposal->replicated_plan.has_value()) {
      for (PipelineReplica& replica : proposal->replicated_plan->pipelines) {
        NamePlaces(islands, kName, replica.plan);
      }
    } else {
      NamePlaces(islands, kName, proposal->plan);
    }
    plans.proposals.push_back(*std::move(proposal));
  }

  const HexiscaleOptions options_;
};

PlannerOption Whole(std::string name, int64_t value, std::string description,
                    double least, double most) {
  return {.name = std::move(name),
          .type = Type::kInteger,
          .default_value = absl::StrCat(value),
          .description = std::move(description),
          .least = least,
          .most = most};
}

}  // namespace

PlannerInfo HexiscalePlanner() {
  const HexiscaleInput usual;
  return {
      .name = kName,
      .description =
          "divides the graph of GPUs into pipelines of unlike stages",
      .origin = "HexiScale (FlashFlex), MLSys 2026",
      .features = {.heterogeneous = true},
      .options =
          {{.name = "mode",
            .type = Type::kChoice,
            .default_value = "corrected",
            .description = "corrects the released scheduler, or keeps its "
                           "defects",
            .choices = {"corrected", "upstream"}},
           {.name = "recompute",
            .type = Type::kBool,
            .default_value = "true",
            .description = "recomputes all layers in the backward pass"},
           Whole("max_microbatch", 8,
                 "tries microbatches of powers of two samples up to this", 1,
                 1024),
           Whole("first_pipelines", 1,
                 "begins the walk over numbers of pipelines here", 1, 1024),
           Whole("iterations", usual.iterations,
                 "divides the GPUs so many times", 1, 1e6),
           Whole("seed", usual.seed, "seeds the random numbers", 0,
                 4294967295.0)},
      .apply = ProposeUnpolished,
      .create = [](SlicePlanSource&, const TangramOptions&,
                   const PlannerOptionValues& values, const PipelineRules&) {
        return CreateListedPlanner(
            [lister = HexiscaleLister(OptionsOf(values))](
                const PlanRequest& request, const std::vector<Island>& islands,
                PlanObserver& observer) {
              return lister.PlansFor(request, islands, observer);
            },
            ProposeInOrder);
      }};
}

}  // namespace tangram
