#include "coordinator/planners/rivals/sailor/sailor_planner.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"
#include "coordinator/planners/rivals/listed/listed_search.h"
#include "coordinator/planners/rivals/sailor/place_sailor_plan.h"
#include "coordinator/planners/rivals/sailor/sailor_search.h"
#include "coordinator/planners/rivals/sailor/stage_memory.h"

namespace tangram {
namespace {

constexpr char kSailor[] = "sailor";

// The chains of longer pipelines, of models with more layers, take too long to
// build.
constexpr int kMostStages = 256;

// All proposals of a search refer to this.
struct SharedRequest {
  const PlanRequest& request;
  std::vector<Island> islands;
  sailor::TypedNodes nodes;
};

// The plans with one way to recompute.
class SailorLister {
 public:
  SailorLister(const SailorOptions& options, PlanObserver& observer,
               std::shared_ptr<SharedRequest> shared)
      : options_(options), observer_(observer), shared_(std::move(shared)) {}

  absl::Status Add(bool recompute, ListedPlans& listed) {
    const PlanRequest& request = shared_->request;
    observer_.OnPhase(PlanPhase::kProfiling);
    const LayerProfiles profiles = ProfileLayers(
        request.model, request.cluster, request.training,
        {.max_tp_degree = options_.max_tp_degree,
         .max_samples =
             std::min(options_.max_samples, request.training.global_batch_size),
         .recompute = recompute});
    const sailor::Input input = sailor::InputOf(
        request.cluster, profiles, request.training.global_batch_size,
        options_.mode, shared_->nodes);
    if (input.profiles.empty()) {
      listed.why_none = Infeasible{
          .reason = "no degree of tensor parallelism splits the model's heads"};
      return absl::OkStatus();
    }
    observer_.OnPhase(PlanPhase::kComposition);
    TANGRAM_ASSIGN_OR_RETURN(
        const sailor::Found found,
        sailor::Search(
            input,
            {.most_stages = kMostStages,
             .whole_microbatches = options_.mode == sailor::Mode::kCorrected,
             .most_steps = options_.max_search_steps,
             .rules = sailor::RulesOf(options_.mode)},
            [&] { return observer_.ShouldStop(); }));
    Take(found, recompute, listed);
    if (found.plans.empty()) {
      ExplainNone(input, found, recompute, listed);
    } else if (listed.proposals.empty()) {
      listed.why_none = Infeasible{.reason = left_out_};
    }
    return absl::OkStatus();
  }

 private:
  // Adds the plans that have a place, as they are asked for.
  void Take(const sailor::Found& found, bool recompute, ListedPlans& listed) {
    const PlanRequest& request = shared_->request;
    int uneven = 0;
    int homeless = 0;
    for (const sailor::Plan& plan : found.plans) {
      if (request.training.global_batch_size % (plan.samples * plan.dp) != 0) {
        ++uneven;
        continue;
      }
      if (!PlaceSailorPlan(plan, request.model, request.cluster, shared_->nodes,
                           recompute)) {
        ++homeless;
        continue;
      }
      listed.proposals.push_back(
          {.make_plan =
               [shared = shared_, plan, recompute] {
                 PipelinePlan placed = *PlaceSailorPlan(
                     plan, shared->request.model, shared->request.cluster,
                     shared->nodes, recompute);
                 NamePlaces(shared->islands, kSailor, placed);
                 return placed;
               },
           .predicted_s = plan.iteration_s,
           .note = recompute
                       ? "all transformer layers run again in the "
                         "backward pass, which Sailor itself does not plan"
                       : ""});
    }
    Note(uneven, "a dp degree that does not divide the batch", listed);
    Note(homeless, "tp groups that do not fit the nodes", listed);
    if (std::min(request.model.num_layers(), request.cluster->num_gpus()) >
        kMostStages) {
      listed.limits.push_back(absl::StrCat("planner sailor tries no more than ",
                                           kMostStages, " stages"));
    }
    if (found.truncated) {
      const std::string limit =
          absl::StrCat("the search of Sailor ended after ", found.steps,
                       " steps: --planner-option max_search_steps raises that");
      listed.limits.push_back(limit);
      listed.notes.push_back(limit);
    }
  }

  void Note(int count, const std::string& what, ListedPlans& listed) {
    if (count == 0) return;
    listed.notes.push_back(absl::StrCat("planner sailor: ", count,
                                        " plans left out, with ", what));
    left_out_ = absl::StrCat("all plans have ", what);
  }

  void ExplainNone(const sailor::Input& input, const sailor::Found& found,
                   bool recompute, ListedPlans& listed) {
    const double bytes_short = sailor::MemoryShort(input);
    std::string reason =
        bytes_short > 0
            ? "no even split of the layers fits in memory"
            : "too few GPUs for the stages and degrees that fit in memory";
    if (found.fits_memory && options_.mode == sailor::Mode::kUpstream) {
      reason = "no GPU type alone has GPUs for a whole pipeline";
    }
    if (recompute) absl::StrAppend(&reason, ", with full recomputation");
    listed.why_none = Infeasible{std::move(reason), bytes_short};
  }

  const SailorOptions& options_;
  PlanObserver& observer_;
  const std::shared_ptr<SharedRequest> shared_;
  std::string left_out_;  // Why plans were left out.
};

absl::StatusOr<ListedPlans> PlansFor(const SailorOptions& options,
                                     const PlanRequest& request,
                                     const std::vector<Island>& islands,
                                     PlanObserver& observer) {
  TANGRAM_RETURN_IF_ERROR(MicrobatchSizes(request).status());
  ListedPlans listed;
  SailorLister lister(
      options, observer,
      std::make_shared<SharedRequest>(SharedRequest{request, islands, {}}));
  for (const LayerRecompute recompute : options.recompute) {
    if (observer.ShouldStop()) return absl::CancelledError("planning stopped");
    TANGRAM_RETURN_IF_ERROR(
        lister.Add(recompute == LayerRecompute::kWholeLayer, listed));
  }
  return listed;
}

PlannerOption IntegerOption(std::string name, int64_t value, double most,
                            std::string description) {
  return {.name = std::move(name),
          .type = PlannerOption::Type::kInteger,
          .default_value = absl::StrCat(value),
          .description = std::move(description),
          .least = 1,
          .most = most};
}

SailorOptions OptionsOf(const PlannerOptionValues& values) {
  SailorOptions options;
  const std::string& mode = values.Choice("mode");
  options.mode = mode == "upstream" ? sailor::Mode::kUpstream
                 : mode == "fork"   ? sailor::Mode::kFork
                                    : sailor::Mode::kCorrected;
  options.recompute = RecomputesToTry(values.Choice("recompute"));
  options.max_samples = static_cast<int>(values.Integer("max_samples"));
  options.max_tp_degree = static_cast<int>(values.Integer("max_tp_degree"));
  options.max_search_steps = values.Integer("max_search_steps");
  return options;
}

}  // namespace

std::unique_ptr<Planner> CreateSailorPlanner(const SailorOptions& options) {
  return CreateListedPlanner(
      [options](const PlanRequest& request, const std::vector<Island>& islands,
                PlanObserver& observer) {
        return PlansFor(options, request, islands, observer);
      },
      ProposeInOrder);
}

PlannerInfo SailorPlanner() {
  const SailorOptions usual;
  return {
      .name = kSailor,
      .description =
          "splits layers evenly and chooses the GPU types of each replica",
      .origin = "Sailor, SOSP 2025",
      .features = {.heterogeneous = true},
      .options =
          {{.name = "mode",
            .type = PlannerOption::Type::kChoice,
            .default_value = "corrected",
            .description = "search as mended, as published, or as forked",
            .choices = {"corrected", "upstream", "fork"}},
           RecomputeOption("full if nothing fits without"),
           IntegerOption("max_samples", usual.max_samples, 1024,
                         "profile microbatches of up to so many samples"),
           IntegerOption("max_tp_degree", usual.max_tp_degree, 1024,
                         "profile up to so much tensor parallelism"),
           IntegerOption("max_search_steps", usual.max_search_steps, 9e18,
                         "look at up to so many mixes of GPU types")},
      .apply = ProposeUnpolished,
      .create = [](SlicePlanSource&, const TangramOptions&,
                   const PlannerOptionValues& values, const PipelineRules&) {
        return CreateSailorPlanner(OptionsOf(values));
      }};
}

}  // namespace tangram
