#include "coordinator/planners/portfolio/preferred_precision.h"

#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/format.h"
#include "common/base/status_macros.h"
#include "coordinator/bounds/any_plan_bound.h"
#include "coordinator/planners/constraints/resolve_constraints.h"
#include "coordinator/planners/portfolio/combine_results.h"

namespace tangram {
namespace {

bool HasUnits(const Node& node, Precision precision) {
  return node.device.peak_flops.At(precision) > 0;
}

// Returns whether the plan of `result` has a GPU of a node without units.
bool UsesLesserGpus(const PlanResult& result, const Cluster& cluster,
                    Precision precision) {
  std::vector<const PipelinePlan*> pipelines;
  if (result.plan.has_value()) pipelines.push_back(&*result.plan);
  if (result.replicated_plan.has_value()) {
    for (const PipelineReplica& replica : result.replicated_plan->pipelines) {
      pipelines.push_back(&replica.plan);
    }
  }
  return absl::c_any_of(pipelines, [&](const PipelinePlan* pipeline) {
    return absl::c_any_of(pipeline->stages, [&](const PlacedStage& stage) {
      return absl::c_any_of(stage.gpus, [&](const GpuId& gpu) {
        return !HasUnits(cluster.nodes[gpu.node], precision);
      });
    });
  });
}

class EitherPrecision {
 public:
  EitherPrecision(const PlanRequest& request, double min_island_gain)
      : request_(request),
        min_island_gain_(min_island_gain),
        preferred_(*request.preferred_precision) {}

  // Finds the nodes that have no units for the preferred precision.
  absl::Status FindLesser() {
    TANGRAM_ASSIGN_OR_RETURN(
        left_out_, ExcludedNodes(request_.constraints, *request_.cluster));
    const std::vector<Node>& nodes = request_.cluster->nodes;
    for (int n = 0; n < static_cast<int>(nodes.size()); ++n) {
      if (absl::c_binary_search(left_out_, n)) continue;
      if (HasUnits(nodes[n], preferred_)) {
        some_have_units_ = true;
        continue;
      }
      lesser_.push_back(n);
      if (!absl::c_linear_search(types_, nodes[n].device.type)) {
        types_.push_back(nodes[n].device.type);
      }
    }
    return absl::OkStatus();
  }

  bool all_have_units() const { return lesser_.empty(); }
  bool some_have_units() const { return some_have_units_; }

  // The request in the preferred precision, without the lesser nodes.
  PlanRequest Preferring() const {
    PlanRequest some = request_;
    some.preferred_precision.reset();
    some.training.precision = preferred_;
    for (const int node : lesser_) {
      some.constraints.exclude_nodes.push_back(
          request_.cluster->nodes[node].name);
    }
    return some;
  }

  // Returns whether no plan for `some` is as fast as that of `all`.
  bool IsHopeless(const PlanRequest& some, const PlanResult& all) const {
    if (!all.has_plan()) return false;
    std::vector<int> without = left_out_;
    absl::c_copy(lesser_, std::back_inserter(without));
    absl::c_sort(without);
    return AnyPlanSeconds(some.model, *some.cluster, without, some.training) >
           all.iteration_time_s() * (1 + GainOf(all));
  }

  // Returns the better of both results, with the effort of both.
  PlanResult Better(PlanResult all, PlanResult some) const {
    PlanningStats stats = all.stats;
    AddStats(some.stats, stats);
    const bool takes_some =
        some.has_plan() &&
        (!all.has_plan() ||
         some.iteration_time_s() <= all.iteration_time_s() * (1 + GainOf(all)));
    const std::string in_preferred = absl::StrCat(
        PrecisionName(preferred_), " without ", absl::StrJoin(types_, ", "));
    const std::string on_all = absl::StrCat(
        PrecisionName(request_.training.precision), " on all GPUs");
    PlanResult best = std::move(takes_some ? some : all);
    const PlanResult& other = takes_some ? all : some;
    best.stats = stats;
    if (best.has_plan()) {
      best.notes.push_back(absl::StrCat(
          "precision: ", takes_some ? in_preferred : on_all, ", as ",
          takes_some ? on_all : in_preferred,
          other.has_plan()
              ? absl::StrCat(" takes ", FormatSeconds(other.iteration_time_s()))
              : " has no plan"));
    }
    return best;
  }

 private:
  double GainOf(const PlanResult& all) const {
    return UsesLesserGpus(all, *request_.cluster, preferred_) ? min_island_gain_
                                                              : 0;
  }

  const PlanRequest& request_;
  const double min_island_gain_;
  const Precision preferred_;
  std::vector<int> left_out_;       // By constraints.
  std::vector<int> lesser_;         // Nodes without units.
  std::vector<std::string> types_;  // Their types of GPUs.
  bool some_have_units_ = false;
};

class EitherPrecisionPlanner : public ClusterPlanner {
 public:
  EitherPrecisionPlanner(std::unique_ptr<ClusterPlanner> planner,
                         double min_island_gain)
      : planner_(std::move(planner)), min_island_gain_(min_island_gain) {}

  absl::StatusOr<PlanResult> Plan(const PlanRequest& request,
                                  PlanObserver& observer) override {
    if (!request.preferred_precision.has_value()) {
      return planner_->Plan(request, observer);
    }
    EitherPrecision either(request, min_island_gain_);
    TANGRAM_RETURN_IF_ERROR(either.FindLesser());
    const PlanRequest preferring = either.Preferring();
    if (either.all_have_units()) return PlanAs(preferring, observer);
    PlanRequest on_all = request;
    on_all.preferred_precision.reset();
    TANGRAM_ASSIGN_OR_RETURN(PlanResult all, planner_->Plan(on_all, observer));
    if (!either.some_have_units() || NamesIslands(request.constraints) ||
        either.IsHopeless(preferring, all)) {
      return all;
    }
    absl::StatusOr<PlanResult> some = PlanAs(preferring, observer);
    // Some constraint may need the GPUs that are left out.
    if (absl::IsInvalidArgument(some.status())) return all;
    TANGRAM_RETURN_IF_ERROR(some.status());
    return either.Better(std::move(all), *std::move(some));
  }

 private:
  // Plans with other training options than those that were asked for.
  absl::StatusOr<PlanResult> PlanAs(const PlanRequest& preferring,
                                    PlanObserver& observer) {
    TANGRAM_ASSIGN_OR_RETURN(PlanResult result,
                             planner_->Plan(preferring, observer));
    if (!result.training.has_value()) result.training = preferring.training;
    return result;
  }

  const std::unique_ptr<ClusterPlanner> planner_;
  const double min_island_gain_;
};

}  // namespace

std::unique_ptr<ClusterPlanner> CreateEitherPrecisionPlanner(
    std::unique_ptr<ClusterPlanner> planner, double min_island_gain) {
  return std::make_unique<EitherPrecisionPlanner>(std::move(planner),
                                                  min_island_gain);
}

}  // namespace tangram
