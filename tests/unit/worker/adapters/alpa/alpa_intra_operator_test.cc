#include "worker/adapters/alpa/alpa_intra_operator.h"

#include <algorithm>
#include <tuple>

#include "common/cost/stage_cost.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "worker/adapters/alpa/alpa_sharding_elimination.h"
#include "worker/adapters/alpa/alpa_sharding_ilp.h"

namespace tangram::alpa {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr int kMicrobatch = 8;

std::tuple<int, int, int> DegreesOf(const StageParallelism& parallelism) {
  return {parallelism.tp_degree, parallelism.dp_degree, parallelism.ep_degree};
}

struct Case {
  LayerSpec layer;
  IslandSpec island = testing::TestIsland(2, 4);
  TrainingOptions training = testing::TestTraining();
  int num_gpus = 8;

  SplitLimits Limits() const {
    return SplitLimits({&layer, 1}, kMicrobatch, training);
  }
  std::vector<LogicalMesh> Meshes() const {
    return LogicalMeshesOf(num_gpus, island, Limits());
  }
  StageEnvironment Environment() const {
    return {.device = island.device,
            .training = training,
            .wiring = WiringOf(island, num_gpus),
            .pipeline_microbatch_size = kMicrobatch};
  }
  std::vector<std::tuple<int, int, int>> Solutions() const {
    std::vector<std::tuple<int, int, int>> degrees;
    for (const StageParallelism& parallelism : SolveIntraOperator(
             {&layer, 1}, num_gpus, island, Limits(), Environment())) {
      degrees.push_back(DegreesOf(parallelism));
    }
    return degrees;
  }
};

LayerSpec Dense() { return testing::TestModel(1).layers[1]; }
LayerSpec Moe() { return testing::TestMoeModel(1).layers[1]; }

TEST(IntraOperatorTest, MeshesAreAllGridsThatTheNodeAllows) {
  // tp stays in a node of four.
  std::vector<std::pair<int, int>> grids;
  for (const LogicalMesh& mesh : Case{.layer = Dense()}.Meshes()) {
    grids.emplace_back(mesh.outer, mesh.inner);
    EXPECT_FALSE(mesh.inner_splits_batch);
    EXPECT_THAT(mesh.shardings, ::testing::SizeIs(1));
  }

  EXPECT_THAT(grids,
              ElementsAre(std::pair(8, 1), std::pair(4, 2), std::pair(2, 4)));
}

TEST(IntraOperatorTest, DenseLayersHaveOneShardingAMesh) {
  EXPECT_THAT(Case{.layer = Dense()}.Solutions(),
              ElementsAre(std::tuple(1, 8, 1), std::tuple(2, 4, 1),
                          std::tuple(4, 2, 1)));
}

TEST(IntraOperatorTest, ExpertsSplitAlongOneAxis) {
  std::vector<std::tuple<int, int, bool, std::tuple<int, int, int>>> split;
  for (const LogicalMesh& mesh : Case{.layer = Moe()}.Meshes()) {
    ASSERT_THAT(mesh.shardings, ::testing::SizeIs(2));
    EXPECT_EQ(mesh.shardings[0].ep_degree, 1);
    split.emplace_back(mesh.outer, mesh.inner, mesh.inner_splits_batch,
                       DegreesOf(mesh.shardings[1]));
  }

  EXPECT_THAT(split, UnorderedElementsAre(
                         std::tuple(8, 1, false, std::tuple(1, 8, 8)),
                         std::tuple(4, 2, true, std::tuple(1, 8, 2)),
                         std::tuple(2, 4, true, std::tuple(1, 8, 4)),
                         std::tuple(4, 2, false, std::tuple(2, 4, 4)),
                         std::tuple(2, 4, false, std::tuple(4, 2, 2))));
}

// The lean sharding splits the experts, whatever the fast one does.
TEST(IntraOperatorTest, SolutionsHaveTheLeanestSharding) {
  EXPECT_THAT(
      Case{.layer = Moe()}.Solutions(),
      ::testing::IsSupersetOf({std::tuple(1, 8, 8), std::tuple(1, 8, 4),
                               std::tuple(2, 4, 4), std::tuple(4, 2, 2)}));
}

TEST(IntraOperatorTest, AllToAllOverASlowNetworkKeepsExpertsWhole) {
  Case slow = {.layer = Moe()};
  slow.island.inter_node = {.bandwidth_bytes_per_s = 1e6,
                            .pair_bandwidth_bytes_per_s = 1e6};
  const LogicalMesh mesh = slow.Meshes()[0];

  const auto fast = SolveSharding(LayerShardingProblem(
      slow.layer, mesh, slow.Environment(), ShardingAim::kSeconds));

  ASSERT_TRUE(fast.has_value());
  EXPECT_THAT(fast->strategies, ::testing::Each(0));
}

// Elimination, the integer program and the cost of a whole layer agree.
TEST(IntraOperatorTest, ProblemHasTheLayersCost) {
  const Case c = {.layer = Moe()};
  const int num_ops = static_cast<int>(OperatorsOf(c.layer).size());
  for (const LogicalMesh& mesh : c.Meshes()) {
    SCOPED_TRACE(::testing::Message() << mesh.outer << " x " << mesh.inner);
    double want = kForbidden;
    for (const StageParallelism& parallelism : mesh.shardings) {
      const LayerCost cost = EstimateLayer(
          c.layer, {0, num_ops, kRecomputeNone}, parallelism, c.Environment());
      want = std::min(want, cost.forward_s + cost.backward_s);
    }
    const ShardingProblem problem = LayerShardingProblem(
        c.layer, mesh, c.Environment(), ShardingAim::kSeconds);

    EXPECT_NEAR(EliminateSharding(problem)->cost, want, 1e-9 * want);
    EXPECT_NEAR(SolveShardingIlp(problem)->cost, want, 1e-9 * want);
  }
}

}  // namespace
}  // namespace tangram::alpa
