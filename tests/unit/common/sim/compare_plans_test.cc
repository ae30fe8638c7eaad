#include "common/sim/compare_plans.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/plan_builders.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

// A plan of one stage on `num_gpus` GPUs that is busy for 10 s of an iteration.
struct OneStage {
  PipelinePlan plan;
  Evaluation evaluation;
  OneStage(int num_gpus, double iteration_s, double peak_bytes)
      : plan{.pipeline_microbatch_size = num_gpus,
             .stages = {testing::StageOn(0, 1, {},
                                         testing::NodeGpus(0, num_gpus))}},
        evaluation{.iteration_time_s = iteration_s,
                   .model_flops_utilization = 0.25,
                   .stages = {{.forward_s = 1,
                               .backward_s = 1,
                               .busy_s = 10,
                               .idle_s = iteration_s - 10,
                               .peak_bytes = peak_bytes,
                               .capacity_bytes = 16e9}}} {}
};

TEST(ComparePlansTest, ListsWhatChanged) {
  const OneStage a(2, 20, 4e9);
  OneStage b(3, 12.5, 12e9);
  b.evaluation.stages[0].recompute_s = 0.5;
  b.evaluation.model_flops_utilization = 0.4;
  b.evaluation.violations = {{}};
  EXPECT_THAT(
      ComparePlans({a.plan, a.evaluation}, {b.plan, b.evaluation}),
      ElementsAre("iteration time: 20.00 s -> 12.50 s (-37.5 %)",
                  "stages that do not fit: 0 -> 1", "GPUs used: 2 -> 3",
                  "pipeline microbatch size: 2 -> 3",
                  // Busy 10 of 20 and of 12.5 s, a quarter of it recomputing.
                  "share of computation: 50.0 % -> 80.0 %",
                  "share of waiting for other stages: 50.0 % -> 20.0 %",
                  "share of recomputation: 0.0 % -> 20.0 %",
                  "model FLOPs utilization: 25.0 % -> 40.0 %",
                  "memory of the fullest GPUs: 25.0 % -> 75.0 %"));
}

TEST(ComparePlansTest, NamesAnotherScheduleAndCountsSharedGpusOnce) {
  const OneStage a(2, 20, 4e9);
  OneStage b(2, 20, 4e9);
  b.plan.schedule = PipelineSchedule::kInterleaved;
  b.plan.virtual_stages = 2;
  b.plan.stages.push_back(b.plan.stages[0]);
  b.evaluation.stages[0].busy_s = 5;
  b.evaluation.stages.push_back(b.evaluation.stages[0]);
  EXPECT_THAT(ComparePlans({a.plan, a.evaluation}, {b.plan, b.evaluation}),
              ElementsAre("iteration time: 20.00 s -> 20.00 s (+0.0 %)",
                          "stages: 1 -> 2", "schedule: 1f1b -> interleaved",
                          "chunks on each device: 1 -> 2"));
}

TEST(ComparePlansTest, SaysOnlyTheTimeOfEqualPlans) {
  const OneStage a(2, 20, 4e9);
  EXPECT_THAT(ComparePlans({a.plan, a.evaluation}, {a.plan, a.evaluation}),
              ElementsAre("iteration time: 20.00 s -> 20.00 s (+0.0 %)"));
}

}  // namespace
}  // namespace tangram
