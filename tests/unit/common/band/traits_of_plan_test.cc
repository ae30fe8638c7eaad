#include "common/band/traits_of_plan.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"

namespace tangram {
namespace {

using testing::NodeGpus;
using testing::StageOn;
using testing::TestCluster;
using testing::TestDevice;
using testing::TestModel;

const ResidualTable& Table() {
  static const auto& table = *new ResidualTable{
      .generations = {{"A", "ampere"}, {"A2", "ampere"}, {"V", "volta"}}};
  return table;
}

// One stage on each node, with that tp.
PipelinePlan PlanOn(int num_nodes, int tp) {
  PipelinePlan plan;
  for (int n = 0; n < num_nodes; ++n) {
    plan.stages.push_back(StageOn(0, 6, {.tp_degree = tp}, NodeGpus(n, tp)));
  }
  return plan;
}

PredictionTraits TraitsOn(const Cluster& cluster, const PipelinePlan& plan) {
  const PipelinePlan* pipeline = &plan;
  return TraitsOfPlan(Table(), TestModel(4), cluster, {&pipeline, 1}, "FSDP");
}

TEST(TraitsOfPlanTest, DependOnTheGpusThatThePlanUses) {
  const Cluster cluster =
      TestCluster({{"a", 1, 8, TestDevice("A")}, {"v", 1, 8, TestDevice("V")}});
  const PredictionTraits one = TraitsOn(cluster, PlanOn(1, 8));
  const PredictionTraits both = TraitsOn(cluster, PlanOn(2, 4));

  EXPECT_EQ(one.generation, "ampere");
  EXPECT_EQ(one.framework, "FSDP");
  EXPECT_TRUE(one.wide);
  EXPECT_FALSE(one.experts);
  EXPECT_EQ(both.generation, "ampere+volta");
  EXPECT_FALSE(both.wide);
  EXPECT_EQ(TraitsOfCluster(Table(), TestModel(4), cluster, "").generation,
            "ampere+volta");
}

TEST(TraitsOfPlanTest, OneUnknownGpuMakesTheGenerationUnknown) {
  const Cluster cluster =
      TestCluster({{"a", 1, 4, TestDevice("A")}, {"x", 1, 4, TestDevice("X")}});

  EXPECT_EQ(TraitsOn(cluster, PlanOn(2, 4)).generation, "");
  EXPECT_EQ(TraitsOn(cluster, PlanOn(1, 4)).generation, "ampere");
}

TEST(TraitsOfPlanTest, TheSlowestNodeIsTheFabric) {
  Cluster cluster = TestCluster({{"a", 2, 4, TestDevice("A")}});
  cluster.nodes[0].intra_node.bandwidth_bytes_per_s = 200e9;
  cluster.nodes[1].intra_node.bandwidth_bytes_per_s = 10e9;

  EXPECT_TRUE(TraitsOn(cluster, PlanOn(1, 4)).fast_fabric);
  EXPECT_FALSE(TraitsOn(cluster, PlanOn(2, 4)).fast_fabric);
}

TEST(FrameworkOfRuntimeTest, RuntimesThatShareCodeShareResiduals) {
  EXPECT_EQ(FrameworkOfRuntime("megatron"), "Megatron-Core");
  EXPECT_EQ(FrameworkOfRuntime("flagscale"), "Megatron-Core");
  EXPECT_EQ(FrameworkOfRuntime("torchtitan"), "FSDP");
  EXPECT_EQ(FrameworkOfRuntime("any"), "");
}

}  // namespace
}  // namespace tangram
