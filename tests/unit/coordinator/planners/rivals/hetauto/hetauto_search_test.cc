#include "coordinator/planners/rivals/hetauto/hetauto_search.h"

#include <set>
#include <vector>

#include "coordinator/planners/rivals/hetauto/hetauto_cost.h"
#include "coordinator/planners/rivals/hetauto/hetauto_planner.h"
#include "coordinator/planners/rivals/hetauto/hetauto_request.h"
#include "coordinator/planners/rivals/listed/listed_search.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

bool Never() { return false; }

// A node of 4 GPUs, and one of 4 GPUs of half the speed.
PlanRequest FastAndSlow() {
  DeviceSpec slow = testing::TestDevice("SLOW");
  slow.peak_flops = {.fp32 = 5e13, .fp16 = 5e13, .bf16 = 5e13, .fp8 = 5e13};
  return {.cluster = testing::TestCluster(
              {{.name = "fast", .device = testing::TestDevice("FAST")},
               {.name = "slow", .device = slow}}),
          .model = testing::TestModel(12, 2048),
          .training = testing::TestTraining(32)};
}

struct Case {
  PlanRequest request;
  std::vector<Island> islands;
  HetAutoInput input;
};

Case CaseOf(PlanRequest request) {
  testing::SilentObserver observer;
  std::vector<Island> islands = *IslandsToShow(request, observer);
  HetAutoInput input = HetAutoInputFor(request, islands, 4, false);
  return {std::move(request), std::move(islands), std::move(input)};
}

TEST(HetAutoSearchTest, TheFirstPlanFollowsThePrinciples) {
  const Case fast_and_slow = CaseOf(FastAndSlow());
  const HetAutoPlans found =
      SearchHetAuto(fast_and_slow.input, {.iterations = 1}, Never);
  ASSERT_EQ(found.plans.size(), 1);
  const HetAutoPlan& plan = found.plans[0].plan;
  EXPECT_EQ(plan.dp_degree, 4);
  EXPECT_EQ(plan.samples, 1);
  ASSERT_EQ(plan.sections.size(), 2);
  // Layers in proportion to throughput.
  EXPECT_EQ(plan.sections[0].num_stages, 1);
  EXPECT_GT(plan.sections[0].num_layers, plan.sections[1].num_layers);
  EXPECT_EQ(plan.sections[0].num_layers + plan.sections[1].num_layers, 12);
}

TEST(HetAutoSearchTest, MoreIterationsFindFasterPlansThatAreValid) {
  const Case fast_and_slow = CaseOf(FastAndSlow());
  const HetAutoPlans guided =
      SearchHetAuto(fast_and_slow.input, {.iterations = 1}, Never);
  const HetAutoPlans found = SearchHetAuto(fast_and_slow.input, {}, Never);
  EXPECT_LT(found.plans[0].iteration_s, guided.plans[0].iteration_s);
  EXPECT_GT(found.plans.size(), 50);
  for (const RankedHetAutoPlan& ranked : found.plans) {
    EXPECT_EQ(ranked.iteration_s,
              CostOf(fast_and_slow.input, ranked.plan).iteration_s);
    EXPECT_THAT(
        ValidatePlan(fast_and_slow.request.model, fast_and_slow.request.cluster,
                     fast_and_slow.request.training,
                     PipelineOf(fast_and_slow.request, fast_and_slow.islands,
                                ranked.plan, false)),
        testing::IsOk());
  }
}

TEST(HetAutoSearchTest, SameSeedSamePlans) {
  const Case fast_and_slow = CaseOf(FastAndSlow());
  const HetAutoPlans one = SearchHetAuto(fast_and_slow.input, {}, Never);
  const HetAutoPlans two = SearchHetAuto(fast_and_slow.input, {}, Never);
  ASSERT_EQ(one.plans.size(), two.plans.size());
  for (size_t i = 0; i < one.plans.size(); ++i) {
    EXPECT_EQ(one.plans[i].plan, two.plans[i].plan);
  }
}

TEST(HetAutoSearchTest, PlansTooLargeForMemoryAreNone) {
  PlanRequest request = FastAndSlow();
  for (Node& node : request.cluster.MakeOwn().nodes) {
    node.device.memory_bytes = 1e8;
  }
  const HetAutoPlans found = SearchHetAuto(CaseOf(request).input, {}, Never);
  EXPECT_THAT(found.plans, IsEmpty());
  EXPECT_GT(found.bytes_short, 0);
}

// 3 and 4 GPUs have no dp degree but 1 in common, and 7 stages need as many
// layers.
TEST(HetAutoSearchTest, SizesWithoutCommonDivisorsHaveOneReplica) {
  PlanRequest request = FastAndSlow();
  request.cluster = testing::TestCluster(
      {{.name = "three", .gpus_per_node = 3, .device = testing::TestDevice()},
       {.name = "four", .device = testing::TestDevice()}});
  for (const RankedHetAutoPlan& ranked :
       SearchHetAuto(CaseOf(request).input, {}, Never).plans) {
    EXPECT_EQ(ranked.plan.dp_degree, 1);
  }
  request.model = testing::TestModel(2);
  const HetAutoPlans none = SearchHetAuto(CaseOf(request).input, {}, Never);
  EXPECT_THAT(none.plans, IsEmpty());
  EXPECT_EQ(none.bytes_short, 0);
}

TEST(HetAutoCostTest, RecomputationTakesTimeAndSavesMemory) {
  Case keep = CaseOf(FastAndSlow());
  const HetAutoPlan plan{
      .sections = {{.cluster = 0, .num_stages = 4, .num_layers = 8},
                   {.cluster = 1, .num_stages = 4, .num_layers = 4}}};
  for (HetAutoCluster& cluster : keep.input.clusters) cluster.memory_bytes = 0;
  const HetAutoCost kept = CostOf(keep.input, plan);
  keep.input.recompute = true;
  const HetAutoCost again = CostOf(keep.input, plan);
  EXPECT_GT(again.iteration_s, kept.iteration_s);
  EXPECT_LT(again.bytes_short, kept.bytes_short);
}

TEST(HetAutoInputTest, LayersLeftOverGoToTheLastStages) {
  EXPECT_THAT(LayersOfStages({.num_stages = 3, .num_layers = 8}),
              ElementsAre(2, 3, 3));
}

}  // namespace
}  // namespace tangram
