#ifndef TANGRAM_TESTS_UNIT_COORDINATOR_PLANNERS_TANGRAM_FAST_AND_SLOW_H_
#define TANGRAM_TESTS_UNIT_COORDINATOR_PLANNERS_TANGRAM_FAST_AND_SLOW_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "coordinator/planners/judge/judged_planner.h"
#include "coordinator/planners/tangram/tangram_planner.h"
#include "tests/testing/builders.h"
#include "tests/testing/fake_slice_plan_source.h"
#include "tests/testing/silent_observer.h"

namespace tangram::testing {

// One fast and one slow GPU, 4 layers between embedding and head, 8 samples.
// Links are so fast that transfers do not matter.
inline PlanRequest FastAndSlow() {
  DeviceSpec slow = TestDevice("SLOW");
  slow.peak_flops = {.fp32 = 50e12, .fp16 = 50e12, .bf16 = 50e12};
  return {
      .cluster = TestCluster(
          {{.name = "fast", .gpus_per_node = 1, .device = TestDevice("FAST")},
           {.name = "slow", .gpus_per_node = 1, .device = slow}},
          1e15),
      .model = TestModel(4),
      .training = TestTraining(8)};
}

inline double SlowIsHalfAsFast(const IslandSpec& island) {
  return island.device.type == "SLOW" ? 2 : 1;
}

inline std::unique_ptr<ClusterPlanner> Judged(
    SlicePlanSource& source, const TangramOptions& options = {},
    const PipelineRules& rules = {}) {
  return CreateJudgedPlanner(
      CreateTangramPlanner(source, options, rules),
      {.min_island_gain = options.min_island_gain, .rules = rules});
}

inline absl::StatusOr<PlanResult> Plan(const PlanRequest& request,
                                       FakeSlicePlanSource& source,
                                       const TangramOptions& options = {}) {
  SilentObserver observer;
  return Judged(source, options)->Plan(request, observer);
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_COORDINATOR_PLANNERS_TANGRAM_FAST_AND_SLOW_H_
