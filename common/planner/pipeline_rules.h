#ifndef TANGRAM_COMMON_PLANNER_PIPELINE_RULES_H_
#define TANGRAM_COMMON_PLANNER_PIPELINE_RULES_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/infinity.h"
#include "common/domain/cluster.h"
#include "common/domain/device.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/runtime.h"
#include "common/domain/stage_limits.h"
#include "common/planner/cluster_planner.h"

namespace tangram {

// Requirements of the framework that will run a plan, beside the request's
// constraints.
struct PipelineRules {
  // Slice plans that it cannot run are not used. Null: all are used. Must
  // outlive the search.
  const Runtime* runtime = nullptr;
  StageLimits stages;
  // Additional limits for slices that hold the first or the last layer.
  StageLimits ends;
  int gpus_per_node = 0;  // Required of islands in use; 0: any.
  // Returns why the plan cannot use such GPUs: "flash attention does not run on
  // T4". Empty text: it can. Empty function: it can use all.
  std::function<std::string(const DeviceSpec&)> why_not_device;
  // Returns the plan that the runtime runs for the given plan, or an error if
  // it runs none. Whole plans are scored as they will run. Empty: plans are
  // scored unchanged.
  std::function<absl::StatusOr<PipelinePlan>(const PlanRequest&,
                                             const PipelinePlan&)>
      fit;
  // Returns whether a pipeline may have this number of GPUs. Empty: any number.
  std::function<bool(int)> accepts_gpus;
  // The closed form of a plan that is already known. The search skips slower
  // plans.
  double incumbent_s = kInfinity;
  // Pipelines are ranked as they run with so many chunks on each GPU
  // (PipelineSchedule::kInterleaved), which fills and drains them the faster.
  // They then have several stages, which divide the microbatches.
  int chunks = 1;
  // Plans that take this fraction longer than the best are of use too, as they
  // may be made faster.
  double worth_refining = 0;
  // How many slice plans the search asks for: a few that make good pipelines,
  // or all that are of use.
  enum class Effort { kSeeds, kAll };
  Effort effort = Effort::kAll;
  // Whether the search looks on for plans slower than its first, up to the
  // incumbent, if these are all refused.
  bool persists = true;
};

// Returns the plan that runs for `plan`: what `rules.fit` makes of it. Errors:
// those of `fit`, and kInvalidArgument if it or its stages are not what the
// constraints of the request demand of all pipelines and stages.
absl::StatusOr<PipelinePlan> FitPlan(const PipelineRules& rules,
                                     const PlanRequest& request,
                                     const PipelinePlan& plan);

// Returns why the rules keep out an island of `nodes` with one of their GPUs.
// Empty: they do not.
std::string WhyNotDevices(const PipelineRules& rules, const Cluster& cluster,
                          absl::Span<const int> nodes);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PLANNER_PIPELINE_RULES_H_
