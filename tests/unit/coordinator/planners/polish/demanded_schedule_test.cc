#include "coordinator/planners/polish/demanded_schedule.h"

#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

constexpr int kFitLayers = 8;

// Two nodes of two GPUs, with links of these rates between nodes and inside.
PlanRequest TwoNodes(double between_bytes_per_s,
                     double inside_bytes_per_s = 100e9) {
  std::vector<testing::TestGroup> groups(2);
  for (int g = 0; g < 2; ++g) {
    groups[g] = {.name = g == 0 ? "a" : "b",
                 .gpus_per_node = 2,
                 .device = testing::TestDevice("GPU")};
  }
  Cluster cluster = testing::TestCluster(groups, between_bytes_per_s);
  for (Node& node : cluster.nodes) {
    node.intra_node = {.bandwidth_bytes_per_s = inside_bytes_per_s,
                       .pair_bandwidth_bytes_per_s = inside_bytes_per_s};
  }
  return {.cluster = std::move(cluster),
          .model = testing::TestModel(kFitLayers - 2),
          .training = testing::TestTraining(16)};
}

// A stage of two replicas on each node.
PipelinePlan ReplicasOnNodes(int zero_stage) {
  PipelinePlan plan{.pipeline_microbatch_size = 2};
  for (int s = 0; s < 2; ++s) {
    const int begin = s * kFitLayers / 2;
    const int end = begin + kFitLayers / 2;
    plan.stages.push_back(
        {.plan = {.begin = {begin, 0},
                  .end = {end, 0},
                  .parallelism = {.dp_degree = 2, .zero_stage = zero_stage},
                  .recompute = {{end - begin, kRecomputeNone}}},
         .gpus = {{s, 0}, {s, 1}},
         .island = s});
  }
  return plan;
}

PipelinePlan Fitted(const PlanRequest& request, const PipelineRules& rules,
                    const PipelinePlan& plan) {
  testing::SilentObserver observer;
  absl::StatusOr<PipelinePlan> fitted =
      FitFaster(request, rules, plan, observer);
  EXPECT_THAT(fitted, testing::IsOk());
  return *std::move(fitted);
}

TEST(FitFasterTest, GpipeRunsOverASlowLinkWhereTheRuntimeHasIt) {
  constexpr Runtime kPlain = {.name = "plain", .max_zero_stage = 3};
  constexpr Runtime kGpipe = {
      .name = "gpipe", .max_zero_stage = 3, .gpipe = true};
  const PipelinePlan plan = ReplicasOnNodes(0);
  const PlanRequest slow = TwoNodes(3e9);
  EXPECT_EQ(Fitted(slow, {.runtime = &kGpipe}, plan).schedule,
            PipelineSchedule::kGpipe);
  EXPECT_EQ(Fitted(slow, {.runtime = &kPlain}, plan), plan);
  EXPECT_EQ(Fitted(slow, {}, plan), plan);
  // Nothing to hide.
  EXPECT_EQ(Fitted(TwoNodes(1e15), {.runtime = &kGpipe}, plan), plan);
}

TEST(FitFasterTest, ADemandedScheduleStays) {
  constexpr Runtime kGpipe = {
      .name = "gpipe", .max_zero_stage = 3, .gpipe = true};
  PlanRequest slow = TwoNodes(3e9);
  slow.constraints.schedule = PipelineSchedule::kOneFOneB;
  const PipelinePlan plan = ReplicasOnNodes(0);
  EXPECT_EQ(Fitted(slow, {.runtime = &kGpipe}, plan), plan);
}

// The runtime makes ZeRO 1 ZeRO 2, which reduces gradients after each of eight
// microbatches.
TEST(FitFasterTest, ReplicasShardNothingWhereTheRuntimeWouldShardMore) {
  constexpr Runtime kLacksZero1 = {.name = "lacks ZeRO 1", .max_zero_stage = 3};
  PipelineRules rules{.runtime = &kLacksZero1};
  rules.fit = [](const PlanRequest& /*request*/, const PipelinePlan& plan) {
    PipelinePlan made = plan;
    for (PlacedStage& stage : made.stages) {
      int& zero_stage = stage.plan.parallelism.zero_stage;
      if (zero_stage == 1) zero_stage = 2;
    }
    return absl::StatusOr<PipelinePlan>(made);
  };
  PlanRequest request = TwoNodes(100e9, 1e9);
  EXPECT_EQ(Fitted(request, rules, ReplicasOnNodes(1)), ReplicasOnNodes(0));
  request.constraints.zero_stage = 1;
  EXPECT_EQ(OtherFits(request, rules, ReplicasOnNodes(1),
                      {.plan = ReplicasOnNodes(2), .evaluation = {}})
                .size(),
            0u);
}

}  // namespace
}  // namespace tangram
