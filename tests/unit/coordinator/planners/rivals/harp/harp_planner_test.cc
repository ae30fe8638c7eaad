#include "coordinator/planners/rivals/harp/harp_planner.h"

#include <vector>

#include "coordinator/planners/judge/judged_planner.h"
#include "coordinator/planners/rivals/harp/harp_clusters.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SilentObserver;
using ::testing::SizeIs;
using testing::TestDevice;
using testing::TestGroup;

DeviceSpec Slow() {
  DeviceSpec device = TestDevice("SLOW");
  device.peak_flops = {.fp32 = 25e12, .fp16 = 25e12, .bf16 = 25e12};
  return device;
}

PlanRequest RequestOf(const std::vector<TestGroup>& groups) {
  return {.cluster = testing::TestCluster(groups),
          .model = testing::TestModel(6),
          .training = testing::TestTraining(16)};
}

absl::StatusOr<PlanResult> Plan(const PlanRequest& request,
                                const HarpOptions& options = {}) {
  SilentObserver observer;
  return CreateJudgedPlanner(CreateHarpPlanner(options), {})
      ->Plan(request, observer);
}

TEST(HarpPlannerTest, WarmsUpForEveryStageThatFollows) {
  ASSERT_OK_AND_ASSIGN(
      const PlanResult result,
      Plan(RequestOf({{"a", 1, 4, TestDevice()}, {"b", 2, 2, Slow()}})));
  ASSERT_TRUE(result.plan.has_value());
  const PipelinePlan& plan = *result.plan;
  ASSERT_EQ(plan.warm_up_passes.size(), plan.stages.size());
  EXPECT_EQ(plan.warm_up_passes.back(), 1);
  for (size_t s = 1; s < plan.stages.size(); ++s) {
    EXPECT_GE(plan.warm_up_passes[s - 1], plan.warm_up_passes[s]);
  }
  EXPECT_GT(result.closed_form_s, 0);
}

TEST(HarpPlannerTest, BlockingStagesRun1F1B) {
  PlanRequest request =
      RequestOf({{"a", 1, 4, TestDevice()}, {"b", 2, 2, Slow()}});
  request.training.blocking_transfers = true;
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
  ASSERT_TRUE(result.plan.has_value());
  EXPECT_TRUE(result.plan->warm_up_passes.empty());
}

TEST(HarpPlannerTest, UpstreamTakesTheGivenOrder) {
  const PlanRequest request =
      RequestOf({{"a", 1, 2, TestDevice()}, {"b", 1, 2, Slow()}});
  for (const bool reversed : {false, true}) {
    ASSERT_OK_AND_ASSIGN(
        const PlanResult result,
        Plan(request, {.upstream = true, .reversed = reversed}));
    ASSERT_TRUE(result.plan.has_value());
    EXPECT_EQ(result.plan->stages.front().gpus[0].node, reversed ? 1 : 0);
  }
}

TEST(HarpPlannerTest, UpstreamNeedsTwoClusters) {
  const PlanRequest request = RequestOf({{"a", 2, 2, TestDevice()}});
  ASSERT_OK_AND_ASSIGN(const PlanResult upstream,
                       Plan(request, {.upstream = true}));
  ASSERT_TRUE(upstream.infeasible.has_value());
  EXPECT_THAT(upstream.infeasible->reason, HasSubstr("two clusters"));
  ASSERT_OK_AND_ASSIGN(const PlanResult corrected, Plan(request));
  EXPECT_TRUE(corrected.plan.has_value());
}

TEST(HarpPlannerTest, SaysIfThereAreMoreHostsThanLayers) {
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       Plan(RequestOf({{"a", 9, 1, TestDevice()}})));
  ASSERT_TRUE(result.infeasible.has_value());
  EXPECT_THAT(result.infeasible->reason, HasSubstr("9 hosts"));
}

TEST(HarpPlannerTest, SaysByHowMuchMemoryIsShort) {
  PlanRequest request =
      RequestOf({{"a", 1, 2, TestDevice()}, {"b", 1, 2, Slow()}});
  for (Node& node : request.cluster.MakeOwn().nodes) {
    node.device.memory_bytes = 1e8;
  }
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
  ASSERT_TRUE(result.infeasible.has_value());
  EXPECT_GT(result.infeasible->bytes_short, 0);
}

TEST(HarpClustersTest, NodesOfOneTypeAndSizeAreACluster) {
  const Cluster cluster = testing::TestCluster(
      {{"a", 2, 2, TestDevice()}, {"b", 1, 2, Slow()}, {"c", 1, 4, Slow()}});
  const LayerProfiles profiles =
      ProfileLayers(testing::TestModel(2), cluster, testing::TestTraining(4),
                    {.max_samples = 2});
  const std::vector<HarpNodes> clusters = FindHarpClusters(cluster, profiles);
  ASSERT_THAT(clusters, SizeIs(3));
  EXPECT_THAT(clusters[0].nodes, ElementsAre(0, 1));
  EXPECT_THAT(HarpOrders(clusters), SizeIs(6));
  // More than 24 orders of five: the given one and its reverse.
  EXPECT_THAT(HarpOrders(std::vector<HarpNodes>(5)), SizeIs(2));
}

TEST(HarpClustersTest, ReplicasShareAMicrobatch) {
  const Cluster cluster = testing::TestCluster({{"a", 1, 2, TestDevice()}});
  const LayerProfiles profiles =
      ProfileLayers(testing::TestModel(2), cluster, testing::TestTraining(4),
                    {.max_samples = 2});
  const HarpInput input =
      HarpInputOf(cluster, profiles, FindHarpClusters(cluster, profiles), 4, 2);
  EXPECT_EQ(input.num_microbatches, 2);
  // One GPU, tp 2, and two replicas of a sample each.
  ASSERT_THAT(input.clusters[0].shapes, SizeIs(3));
  EXPECT_EQ(input.clusters[0].shapes[1].dp_degree, 2);
  EXPECT_DOUBLE_EQ(input.clusters[0].shapes[1].layers[1].state_bytes,
                   profiles.Find({0, 1, 1})->at(1).state_bytes);
}

}  // namespace
}  // namespace tangram
