#include "coordinator/planners/rivals/harp/harp_planner.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/infinity.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"
#include "coordinator/planners/rivals/harp/harp_clusters.h"
#include "coordinator/planners/rivals/harp/harp_search.h"
#include "coordinator/planners/rivals/listed/listed_search.h"
#include "coordinator/planners/rivals/listed/recompute_choice.h"
#include "coordinator/planners/rivals/listed/whole_layers.h"
#include "coordinator/planners/rivals/profiles/layer_profiles.h"

namespace tangram {
namespace {

constexpr char kName[] = "harp";

// Plans that are slower than the best so far by more than this factor are not
// looked for. They would be answers only if all better ones were refused.
constexpr double kWorthListing = 1.2;

// Plans for all microbatch sizes and orders, and why there may be none.
class Listing {
 public:
  Listing(const PlanRequest& request, const std::vector<Island>& islands,
          const HarpOptions& options, PlanObserver& observer)
      : request_(request),
        islands_(islands),
        options_(options),
        observer_(observer) {}

  absl::StatusOr<ListedPlans> Run() {
    TANGRAM_ASSIGN_OR_RETURN(sizes_, MicrobatchSizes(request_));
    for (const LayerRecompute recompute : options_.recompute) {
      TANGRAM_RETURN_IF_ERROR(Add(recompute));
    }
    std::stable_sort(plans_.proposals.begin(), plans_.proposals.end(),
                     [](const Proposal& a, const Proposal& b) {
                       return a.predicted_s < b.predicted_s;
                     });
    plans_.notes.push_back(absl::StrCat("planner harp: ", orders_,
                                        " orders of ", clusters_, " clusters, ",
                                        programs_, " dynamic programs"));
    if (plans_.proposals.empty() && !plans_.why_none.has_value()) {
      TANGRAM_ASSIGN_OR_RETURN(plans_.why_none, NoRoom());
    }
    return std::move(plans_);
  }

 private:
  absl::Status Add(LayerRecompute recompute) {
    if (observer_.ShouldStop()) return absl::CancelledError("planning stopped");
    observer_.OnPhase(PlanPhase::kProfiling);
    const LayerProfiles profiles =
        ProfileLayers(request_.model, request_.cluster, request_.training,
                      {.max_samples = options_.max_samples,
                       .recompute = recompute == LayerRecompute::kWholeLayer});
    observer_.OnPhase(PlanPhase::kComposition);
    const std::vector<HarpNodes> clusters =
        FindHarpClusters(request_.cluster, profiles);
    clusters_ = static_cast<int>(clusters.size());
    if (!CanPlan()) return absl::OkStatus();
    const std::vector<std::vector<HarpNodes>> orders = OrdersOf(clusters);
    orders_ = static_cast<int>(orders.size());
    for (const std::vector<HarpNodes>& order : orders) {
      for (const int size : sizes_) {
        TANGRAM_RETURN_IF_ERROR(AddPlan(profiles, order, size, recompute));
      }
    }
    return absl::OkStatus();
  }

  // Sets why_none if HARP plans no such cluster.
  bool CanPlan() {
    const int hosts = static_cast<int>(request_.cluster->nodes.size());
    const int layers = request_.model.num_layers();
    if (options_.upstream && clusters_ < 2) {
      plans_.why_none = {
          .reason =
              "harp in mode upstream plans two clusters or more, here "
              "there is one; expected planner_options.mode=corrected"};
    } else if (hosts > layers) {
      plans_.why_none = {
          .reason = absl::StrCat("harp uses every GPU and its stages do not "
                                 "cross hosts, so ",
                                 hosts,
                                 " hosts need as many layers; the model "
                                 "has ",
                                 layers)};
    }
    return !plans_.why_none.has_value();
  }

  std::vector<std::vector<HarpNodes>> OrdersOf(
      std::vector<HarpNodes> clusters) const {
    if (!options_.upstream) return HarpOrders(clusters);
    if (options_.reversed) std::reverse(clusters.begin(), clusters.end());
    return {std::move(clusters)};
  }

  absl::Status AddPlan(const LayerProfiles& profiles,
                       const std::vector<HarpNodes>& order, int size,
                       LayerRecompute recompute) {
    HarpInput input = HarpInputOf(request_.cluster, profiles, order,
                                  request_.training.global_batch_size, size);
    input.clamps_warm_up = !options_.upstream;
    if (!options_.upstream) input.limit_s = kWorthListing * best_s_;
    TANGRAM_ASSIGN_OR_RETURN(const HarpAnswer answer, Search(input));
    if (answer.stages.empty()) {
      if (size == sizes_.front()) smallest_ = std::move(input);
      return absl::OkStatus();
    }
    best_s_ = std::min(best_s_, answer.predicted_s);
    PipelinePlan plan{
        .pipeline_microbatch_size = size,
        .stages = PlaceHarpStages(request_.cluster, request_.model, order,
                                  input, answer.stages, recompute)};
    // Stages that block on transfers can run 1F1B alone.
    const TrainingOptions& training = request_.training;
    if (!training.blocking_transfers || training.buffered_sends) {
      for (const HarpStage& stage : answer.stages) {
        plan.warm_up_passes.push_back(stage.warm_up);
      }
    }
    NamePlaces(islands_, kName, plan);
    plans_.proposals.push_back(
        {.plan = std::move(plan), .predicted_s = answer.predicted_s});
    return absl::OkStatus();
  }

  absl::StatusOr<HarpAnswer> Search(const HarpInput& input) {
    HarpAnswer answer =
        SearchHarp(input, [this] { return observer_.ShouldStop(); });
    if (answer.stopped) return absl::CancelledError("planning stopped");
    programs_ += answer.programs;
    return answer;
  }

  // Returns by how much the plan for the smallest microbatch and the most
  // recomputation exceeds the memory.
  absl::StatusOr<Infeasible> NoRoom() {
    HarpInput roomy = smallest_;
    for (HarpCluster& cluster : roomy.clusters) {
      cluster.capacity_bytes = kInfinity;
    }
    TANGRAM_ASSIGN_OR_RETURN(const HarpAnswer answer, Search(roomy));
    if (answer.stages.empty()) {
      return Infeasible{
          .reason =
              "no pipeline of harp has transfers that are as short as "
              "its slowest stage"};
    }
    return Infeasible{.reason = "no pipeline of harp fits in memory",
                      .bytes_short = BytesShort(smallest_, answer.stages)};
  }

  const PlanRequest& request_;
  const std::vector<Island>& islands_;
  const HarpOptions& options_;
  PlanObserver& observer_;

  std::vector<int> sizes_;  // Microbatch sizes to try.
  ListedPlans plans_;
  int clusters_ = 0;
  int orders_ = 0;
  int programs_ = 0;
  double best_s_ = kInfinity;  // Predicted, of all plans so far.
  HarpInput smallest_;         // Without a plan, for the smallest microbatch.
};

HarpOptions OptionsOf(const PlannerOptionValues& values) {
  return {.upstream = values.Choice("mode") == "upstream",
          .reversed = values.Choice("order") == "reversed",
          .recompute = RecomputesToTry(values.Choice("recompute")),
          .max_samples = static_cast<int>(values.Integer("max_samples"))};
}

}  // namespace

std::unique_ptr<Planner> CreateHarpPlanner(const HarpOptions& options) {
  return CreateListedPlanner(
      [options](const PlanRequest& request, const std::vector<Island>& islands,
                PlanObserver& observer) {
        return Listing(request, islands, options, observer).Run();
      },
      ProposeInOrder);
}

PlannerInfo HarpPlanner() {
  using Type = PlannerOption::Type;
  return {
      .name = kName,
      .description =
          "stages over a sequence of homogeneous clusters, with warm-up that "
          "hides transfers",
      .origin = "HARP, also HAPT, EuroSys 2026",
      .features = {.heterogeneous = true},
      .options = {{.name = "mode",
                   .type = Type::kChoice,
                   .default_value = "corrected",
                   .description = "try all orders of the clusters, or plan as "
                                  "published for the one given",
                   .choices = {"corrected", "upstream"}},
                  {.name = "order",
                   .type = Type::kChoice,
                   .default_value = "listed",
                   .description = "order of the clusters in mode upstream",
                   .choices = {"listed", "reversed"}},
                  RecomputeOption("the faster of none and full"),
                  {.name = "max_samples",
                   .type = Type::kInteger,
                   .default_value = absl::StrCat(HarpOptions().max_samples),
                   .description = "largest microbatch of a replica to profile",
                   .least = 1,
                   .most = 1024}},
      .apply = ProposeUnpolished,
      .create = [](SlicePlanSource&, const TangramOptions&,
                   const PlannerOptionValues& values, const PipelineRules&) {
        return CreateHarpPlanner(OptionsOf(values));
      }};
}

}  // namespace tangram
