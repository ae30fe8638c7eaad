#include "coordinator/planners/replicas/plan_pipelines.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/sim/evaluate_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::SilentObserver;

// Two groups of one node each, "fast" three times as fast as "slow".
PlanRequest TwoNodes(double between_bytes_per_s) {
  DeviceSpec slow = testing::TestDevice("SLOW");
  slow.peak_flops.fp16 /= 3;
  slow.memory_bandwidth_bytes_per_s /= 3;
  return {.cluster = testing::TestCluster(
              {{.name = "fast", .device = testing::TestDevice()},
               {.name = "slow", .device = slow}},
              between_bytes_per_s),
          .model = testing::TestModel(4),
          .training = testing::TestTraining(64)};
}

std::vector<Island> IslandsOf(const PlanRequest& request) {
  std::vector<Island> islands;
  for (int n = 0; n < static_cast<int>(request.cluster->nodes.size()); ++n) {
    Island& island = islands.emplace_back(Island{.id = n, .nodes = {n}});
    island.spec = testing::TestIsland(1, 4);
    island.spec.device = request.cluster->nodes[n].device;
  }
  return islands;
}

// Plans the whole model with dp 4 on the first node that is not excluded, or a
// stage on each of several.
PlanResult PlanSimply(const PlanRequest& request) {
  PlanResult result{.islands = IslandsOf(request)};
  std::vector<int> nodes;
  for (int n = 0; n < static_cast<int>(request.cluster->nodes.size()); ++n) {
    if (!absl::c_linear_search(request.constraints.exclude_nodes,
                               request.cluster->nodes[n].name)) {
      nodes.push_back(n);
    }
  }
  PipelinePlan plan{.pipeline_microbatch_size = 4};
  if (request.training.global_batch_size % 4 != 0) {
    result.infeasible = Infeasible{.reason = "no whole microbatches"};
    return result;
  }
  const int num_layers = request.model.num_layers();
  const int num_stages = static_cast<int>(nodes.size());
  for (int s = 0; s < num_stages; ++s) {
    const int begin = num_layers * s / num_stages;
    const int end = num_layers * (s + 1) / num_stages;
    const int node = nodes[s];
    plan.stages.push_back({.plan = {.begin = {begin, 0},
                                    .end = {end, 0},
                                    .parallelism = {.dp_degree = 4},
                                    .recompute = {{.num_layers = end - begin}}},
                           .gpus = {{node, 0}, {node, 1}, {node, 2}, {node, 3}},
                           .island = 0});
  }
  const auto evaluation =
      EvaluatePlan(request.model, request.cluster, request.training, plan);
  EXPECT_THAT(evaluation, IsOk());
  result.evaluation = *evaluation;
  result.plan = std::move(plan);
  return result;
}

PipelinesSearch SearchWith(int max_pipelines) {
  const auto plan =
      [](const PlanRequest& request) -> absl::StatusOr<PlanResult> {
    return PlanSimply(request);
  };
  return {.max_pipelines = max_pipelines,
          .min_gain = 0.02,
          .quick = plan,
          .thorough = plan};
}

PlanResult Planned(const PlanRequest& request, const PipelinesSearch& search) {
  SilentObserver observer;
  PlanResult result = PlanSimply(request);
  EXPECT_THAT(PlanPipelines(request, search, observer, result), IsOk());
  return result;
}

TEST(PlanPipelinesTest, UnlikeNodesShareTheBatchByTheirSpeed) {
  const PlanRequest request = TwoNodes(1e12);
  const double one_s = PlanSimply(request).evaluation.iteration_time_s;
  const PlanResult result = Planned(request, SearchWith(2));
  ASSERT_TRUE(result.replicated_plan.has_value());
  EXPECT_FALSE(result.plan.has_value());
  EXPECT_LT(result.iteration_time_s() * 1.02, one_s);
  // 3 : 1, in microbatches of 4 of the 64 samples.
  std::vector<int> microbatches;
  for (const PipelineReplica& replica : result.replicated_plan->pipelines) {
    microbatches.push_back(replica.num_microbatches);
  }
  EXPECT_THAT(microbatches, ::testing::UnorderedElementsAre(12, 4));
  // One pipeline would be the next best.
  ASSERT_FALSE(result.runners_up.empty());
  EXPECT_EQ(result.runners_up.front().iteration_time_s, one_s);
  EXPECT_EQ(result.lower_bound_s, 0);
}

// As for a framework: of the shares that it trains, the best are the answer.
TEST(PlanPipelinesTest, PlansThatAreOfNoUseAreNotTheAnswer) {
  const PlanRequest request = TwoNodes(1e12);
  PipelinesSearch search = SearchWith(2);
  search.takes = [](const ReplicatedPlan& plan) {
    return plan.sync == ReplicaSync::kAllReduce &&
           plan.pipelines[0].num_microbatches % 5 == 0;
  };
  const PlanResult result = Planned(request, search);
  ASSERT_TRUE(result.replicated_plan.has_value());
  EXPECT_TRUE(search.takes(*result.replicated_plan));
  EXPECT_GT(result.iteration_time_s(),
            Planned(request, SearchWith(2)).iteration_time_s());
  search.takes = [](const ReplicatedPlan&) { return false; };
  EXPECT_TRUE(Planned(request, search).plan.has_value());
}

TEST(PlanPipelinesTest, ASlowExchangeLeavesOnePipeline) {
  // 0.1 GB/s between the nodes.
  const PlanRequest request = TwoNodes(1e8);
  const PlanResult before = PlanSimply(request);
  const PlanResult result = Planned(request, SearchWith(2));
  EXPECT_EQ(result.plan, before.plan);
  EXPECT_FALSE(result.replicated_plan.has_value());
  EXPECT_THAT(result.notes, Contains(HasSubstr("none is faster")));
}

TEST(PlanPipelinesTest, AtMostOnePipelineChangesNothing) {
  const PlanRequest request = TwoNodes(1e12);
  const PlanResult result = Planned(request, SearchWith(1));
  EXPECT_TRUE(result.plan.has_value());
  EXPECT_THAT(result.notes, ::testing::IsEmpty());
}

TEST(PlanPipelinesTest, ConstraintsOnIslandsKeepOnePipeline) {
  PlanRequest request = TwoNodes(1e12);
  request.constraints.tp_degrees = {{.island = "0", .value = 1}};
  EXPECT_TRUE(Planned(request, SearchWith(2)).plan.has_value());
}

TEST(PlanPipelinesTest, SharesAddUpForOddBatches) {
  PlanRequest request = TwoNodes(1e12);
  request.training.global_batch_size = 4 * 13;
  const PlanResult result = Planned(request, SearchWith(2));
  ASSERT_TRUE(result.replicated_plan.has_value());
  int samples = 0;
  for (const PipelineReplica& replica : result.replicated_plan->pipelines) {
    samples += replica.num_microbatches * replica.plan.pipeline_microbatch_size;
  }
  EXPECT_EQ(samples, 4 * 13);
}

TEST(PlanPipelinesTest, EndsWhenTold) {
  class Impatient : public SilentObserver {
   public:
    bool ShouldStop() override { return true; }
  } observer;
  const PlanRequest request = TwoNodes(1e12);
  PlanResult result = PlanSimply(request);
  EXPECT_EQ(PlanPipelines(request, SearchWith(2), observer, result).code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace tangram
