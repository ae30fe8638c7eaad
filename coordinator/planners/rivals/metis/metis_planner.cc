#include "coordinator/planners/rivals/metis/metis_planner.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"
#include "coordinator/planners/rivals/listed/listed_search.h"
#include "coordinator/planners/rivals/metis/metis_request.h"

namespace tangram {
namespace {

using Type = PlannerOption::Type;

constexpr char kName[] = "metis";
constexpr char kUpstream[] = "upstream";
constexpr double kMsOfASecond = 1e3;
constexpr double kBytesOfAnMb = 1e6;

// Why there is no plan.
Infeasible WhyNone(const MetisRanking& ranking, const MetisSettings& settings,
                   const MetisInput& input) {
  int num_gpus = 0;
  for (const MetisHost& host : input.hosts) num_gpus += host.num_gpus;
  if (ranking.no_one_stage_group) {
    return {.reason = absl::StrCat(
                "metis in upstream mode plans for a power of two of GPUs: ",
                num_gpus, " cannot be one stage")};
  }
  if (ranking.inter_stage_plans == 0) {
    return {.reason = absl::StrCat(
                "no stages of a power of two of GPUs make ", num_gpus,
                " GPUs; a smaller min_group_scale_variance allows more")};
  }
  if (ranking.missing_profiles > 0 &&
      settings.defects.missing_profile == MetisMissingProfile::kEndsRun) {
    return {.reason =
                "metis in upstream mode ends at a degree or microbatch "
                "size that is not profiled"};
  }
  if (ranking.costed > 0) {
    return {.reason =
                "none of the plans can run: each loses a layer, "
                "has an empty stage or spans nodes with a replica"};
  }
  if (std::isfinite(ranking.least_shortage_mb)) {
    return {.reason = "no plan fits in memory by its own model",
            .bytes_short = ranking.least_shortage_mb * kBytesOfAnMb};
  }
  return {.reason = absl::StrCat(
              "no degrees and microbatch sizes are profiled, within "
              "max_tp ",
              settings.max_tp, " and max_bs ", settings.max_samples)};
}

ListedPlans ListPlansOf(std::shared_ptr<const MetisRequest> request,
                        MetisRanking ranking, const MetisSettings& settings,
                        const std::vector<Island>& islands) {
  ListedPlans listed;
  int64_t refused = 0;
  for (MetisPlan& plan : ranking.plans) {
    if (!CanRun(*request, plan)) {
      ++refused;
      continue;
    }
    Proposal proposal{.predicted_s = plan.cost_ms / kMsOfASecond};
    proposal.make_plan = [request, plan = std::move(plan), islands,
                          batch = settings.global_batch] {
      PipelinePlan placed = ToPipelinePlan(*request, plan, batch);
      NamePlaces(islands, kName, placed);
      return placed;
    };
    listed.proposals.push_back(std::move(proposal));
  }
  listed.notes.push_back(
      absl::StrCat("planner metis: ", ranking.costed, " plans costed of ",
                   ranking.inter_stage_plans, " divisions of GPUs and batch"));
  if (refused > 0) {
    listed.notes.push_back(absl::StrCat(
        "planner metis: ", refused,
        " plans at the top of its list cannot run and are left out"));
  }
  if (ranking.reached_limit) {
    listed.limits.push_back(
        absl::StrCat("metis looked at ", ranking.inter_stage_plans,
                     " divisions of GPUs and batch: more "
                     "--planner-option max_inter_stage_plans lifts that"));
  }
  if (listed.proposals.empty()) {
    listed.why_none = WhyNone(ranking, settings, request->input);
  }
  return listed;
}

// Lists the plans that Metis ranks for a request.
absl::StatusOr<ListedPlans> PlansFor(MetisSettings settings,
                                     const PlanRequest& request,
                                     const std::vector<Island>& islands,
                                     PlanObserver& observer) {
  TANGRAM_RETURN_IF_ERROR(MicrobatchSizes(request).status());
  settings.global_batch = request.training.global_batch_size;
  settings.should_stop = [&observer] { return observer.ShouldStop(); };
  observer.OnPhase(PlanPhase::kProfiling);
  if (observer.ShouldStop()) return absl::CancelledError("planning stopped");
  auto metis =
      std::make_shared<const MetisRequest>(MakeMetisRequest(request, settings));
  observer.OnPhase(PlanPhase::kComposition);
  if (observer.ShouldStop()) return absl::CancelledError("planning stopped");
  MetisRanking ranking;
  if (!metis->input.profiles.empty()) {
    ranking = RankMetisPlans(metis->input, settings);
  }
  if (ranking.stopped) return absl::CancelledError("planning stopped");
  return ListPlansOf(std::move(metis), std::move(ranking), settings, islands);
}

PlannerOption Count(std::string name, int64_t value, std::string description,
                    double most) {
  return {.name = std::move(name),
          .type = Type::kInteger,
          .default_value = absl::StrCat(value),
          .description = std::move(description),
          .least = 1,
          .most = most};
}

std::vector<PlannerOption> Options() {
  return {
      {.name = "mode",
       .type = Type::kChoice,
       .default_value = "corrected",
       .description = "whether to keep the defects of the published planner",
       .choices = {"corrected", kUpstream}},
      {.name = "min_group_scale_variance",
       .type = Type::kNumber,
       .default_value = "1",
       .description =
           "leave out stages with fewer GPUs than this times the mean",
       .least = 0,
       .most = 64},
      Count("max_permute_len", 4,
            "permute so many groups of stages, joining others", 12),
      Count("max_tp", 8, "give a replica of a stage at most so many GPUs", 64),
      Count("max_bs", 8, "give a replica at most so many samples at once",
            1024),
      Count("max_inter_stage_plans", 20000,
            "look at so many divisions of GPUs and batch", 1e12),
  };
}

MetisSettings SettingsOf(const PlannerOptionValues& values) {
  MetisSettings settings{
      .max_tp = static_cast<int>(values.Integer("max_tp")),
      .max_samples = static_cast<int>(values.Integer("max_bs")),
      .min_group_scale = values.Number("min_group_scale_variance"),
      .max_permute_len = static_cast<int>(values.Integer("max_permute_len")),
      .max_plans = kMaxJudged,
      .max_inter_stage_plans = values.Integer("max_inter_stage_plans")};
  if (values.Choice("mode") == kUpstream) {
    settings.defects = MetisDefects::AllOfUpstream();
  }
  return settings;
}

}  // namespace

PlannerInfo MetisPlanner() {
  return {
      .name = kName,
      .description = "ranks stages of powers of two of GPUs by layer profiles",
      .origin = "Metis (ATC'24)",
      .features = {.heterogeneous = true},
      .options = Options(),
      .apply = ProposeUnpolished,
      .create = [](SlicePlanSource&, const TangramOptions&,
                   const PlannerOptionValues& values, const PipelineRules&) {
        return CreateListedPlanner(
            [settings = SettingsOf(values)](const PlanRequest& request,
                                            const std::vector<Island>& islands,
                                            PlanObserver& observer) {
              return PlansFor(settings, request, islands, observer);
            },
            ProposeInOrder);
      }};
}

}  // namespace tangram
