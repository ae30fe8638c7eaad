#include "coordinator/planners/replicas/plan_pipelines.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/infinity.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/replicas/node_groups.h"
#include "coordinator/planners/replicas/partition_search.h"

namespace tangram {
namespace {

// Larger batches take too long to share.
constexpr int kMostSamples = 1 << 17;

// Returns the one pipeline of `result` as a runner-up.
RunnerUp OnePipeline(const PlanResult& result) {
  RunnerUp one{
      .num_stages = result.plan->num_stages(),
      .pipeline_microbatch_size = result.plan->pipeline_microbatch_size,
      .iteration_time_s = result.evaluation.iteration_time_s};
  for (const PlacedStage& stage : result.plan->stages) {
    if (!absl::c_linear_search(one.islands, stage.island)) {
      one.islands.push_back(stage.island);
    }
  }
  absl::c_sort(one.islands);
  return one;
}

// Returns the islands without a pipeline, and why.
std::vector<UnusedIsland> Unused(const PlanResult& result,
                                 const Partition& groups) {
  std::vector<UnusedIsland> unused;
  for (const Island& island : result.islands) {
    const bool is_used = absl::c_any_of(
        groups, [&](const NodeGroup& group) { return group[island.id] > 0; });
    if (is_used) continue;
    unused.push_back({.island = island.id,
                      .reason = "no pipeline on it, and none that it joins, "
                                "makes the iteration shorter"});
  }
  return unused;
}

void TakePipelines(PlayedPartition several, PlanResult& result) {
  result.runners_up.insert(result.runners_up.begin(), OnePipeline(result));
  result.unused_islands = Unused(result, several.groups);
  result.replicated_plan = std::move(several.plan);
  result.replicated_evaluation = std::move(several.evaluation);
  result.plan.reset();
  result.evaluation = {};
  result.closed_form_s = 0;
  result.lower_bound_s = 0;  // None is proven for several pipelines.
}

}  // namespace

absl::Status PlanPipelines(const PlanRequest& request,
                           const PipelinesSearch& options,
                           PlanObserver& observer, PlanResult& result) {
  if (options.max_pipelines < 2 || !result.plan.has_value() ||
      request.training.global_batch_size > kMostSamples ||
      NamesIslands(request.constraints)) {
    return absl::OkStatus();
  }
  observer.OnPhase(PlanPhase::kEvaluation);
  PartitionSearch search(request, options, observer, result.islands);
  TANGRAM_RETURN_IF_ERROR(search.Run());
  const double one_s = result.evaluation.iteration_time_s;
  const double several_s = search.best().has_value()
                               ? search.best()->evaluation.iteration_time_s
                               : kInfinity;
  std::string note = absl::StrCat(
      "several pipelines: ", search.num_plans(), " plans of groups of nodes, ",
      search.num_played(), " combinations of these simulated");
  if (several_s * (1 + options.min_gain) <= one_s) {
    absl::StrAppendFormat(&note, "; one pipeline takes %.4g s, %.1f %% longer",
                          one_s, 100 * (one_s / several_s - 1));
    TakePipelines(*search.best(), result);
  } else {
    absl::StrAppend(&note, "; none is faster than one pipeline");
    if (several_s < one_s) {
      absl::StrAppendFormat(&note, " by %.1f %%", 100 * options.min_gain);
    }
  }
  result.notes.push_back(std::move(note));
  return absl::OkStatus();
}

}  // namespace tangram
