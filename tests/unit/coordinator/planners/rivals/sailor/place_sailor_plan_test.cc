#include "coordinator/planners/rivals/sailor/place_sailor_plan.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram::sailor {
namespace {

using ::testing::ElementsAre;

// Type 0 has nodes 0 and 1 of four GPUs, and type 1 node 2 of three.
struct Placing {
  Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 2, .device = testing::TestDevice("A")},
       {.name = "b",
        .num_nodes = 1,
        .gpus_per_node = 3,
        .device = testing::TestDevice("B")}});
  ModelSpec model = testing::TestModel(2);
  TypedNodes typed{.nodes = {{0, 1}, {2}}};

  std::optional<PipelinePlan> Place(const std::vector<Stage>& stages,
                                    bool recompute = false) {
    return PlaceSailorPlan({.samples = 2, .dp = 2, .stages = stages}, model,
                           cluster, typed, recompute);
  }
};

TEST(PlaceSailorPlanTest, LargeReplicasTakeTheirNodesFirst) {
  Placing placing;
  const auto plan =
      placing.Place({{0, 1, {{0, 0, 1, 2}}}, {1, 3, {{0, 0, 2, 2}}}});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->pipeline_microbatch_size, 4);
  EXPECT_THAT(plan->stages[0].gpus, ElementsAre(GpuId{1, 0}, GpuId{1, 1}));
  EXPECT_THAT(plan->stages[1].gpus,
              ElementsAre(GpuId{0, 0}, GpuId{0, 1}, GpuId{0, 2}, GpuId{0, 3}));
  EXPECT_EQ(plan->stages[1].plan.parallelism,
            (StageParallelism{.tp_degree = 2, .dp_degree = 2}));
  EXPECT_EQ(plan->stages[1].plan.begin, (OperatorCut{1, 0}));
  EXPECT_EQ(plan->stages[1].plan.end, (OperatorCut{4, 0}));
}

TEST(PlaceSailorPlanTest, UnlikeReplicasAreGroups) {
  Placing placing;
  const auto plan = placing.Place({{0, 4, {{0, 0, 4, 1}, {0, 1, 2, 1}}}});
  ASSERT_TRUE(plan.has_value());
  const MixedReplicas& mixed = plan->stages[0].mixed;
  EXPECT_THAT(mixed.groups, ElementsAre(ReplicaGroup{{.tp_degree = 4}, 2},
                                        ReplicaGroup{{.tp_degree = 2}, 2}));
  EXPECT_EQ(plan->stages[0].gpus[4], (GpuId{2, 0}));
}

TEST(PlaceSailorPlanTest, TransformerLayersRunAgain) {
  Placing placing;
  const auto plan = placing.Place({{0, 4, {{0, 0, 1, 2}}}}, /*recompute=*/true);
  ASSERT_TRUE(plan.has_value());
  const std::vector<RecomputeRun>& runs = plan->stages[0].plan.recompute;
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].mask, kRecomputeNone);
  EXPECT_NE(runs[1].mask, kRecomputeNone);
  EXPECT_EQ(runs[1].num_layers, 2);
  EXPECT_EQ(runs[2].mask, kRecomputeNone);
}

TEST(PlaceSailorPlanTest, AReplicaIsInOneNode) {
  Placing placing;
  EXPECT_FALSE(placing.Place({{0, 4, {{0, 1, 2, 2}}}}).has_value());
  placing.typed.nodes = {{0, 1, 2}, {}};
  // Eleven GPUs, but one of each node of three is left over.
  EXPECT_FALSE(placing.Place({{0, 2, {{0, 0, 4, 2}}}, {2, 2, {{0, 0, 2, 2}}}})
                   .has_value());
}

}  // namespace
}  // namespace tangram::sailor
