#include "coordinator/planners/tangram/estimate_cost.h"

#include "common/domain/limits.h"
#include "coordinator/islands/build_islands.h"
#include "coordinator/planners/judge/judged_planner.h"
#include "coordinator/planners/tangram/tangram_planner.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/fake_slice_plan_source.h"
#include "tests/testing/planning/planning.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

PlanRequest RequestOf(int num_layers, int batch) {
  return {.cluster = testing::TestCluster(
              {{.name = "a", .num_nodes = 2}, {.name = "b", .num_nodes = 1}}),
          .model = testing::TestModel(num_layers),
          .training = testing::TestTraining(batch)};
}

TEST(EstimateCostTest, CountsWhatTheSearchHasAtMost) {
  const PlanRequest request = RequestOf(4, 8);
  ASSERT_OK_AND_ASSIGN(const PlanCost cost, EstimateCost(request, {}));
  EXPECT_EQ(cost.num_atoms, 6);
  EXPECT_EQ(cost.num_islands, 3);  // At most one per node.
  EXPECT_EQ(cost.num_microbatch_sizes, 4);
  EXPECT_EQ(cost.num_slices, 15);  // 3 · 4 + 1 + 2
  EXPECT_EQ(cost.num_pairs, 15 * 3 * 4);

  testing::FakeSlicePlanSource source;
  testing::SilentObserver observer;
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       CreateJudgedPlanner(CreateTangramPlanner(source, {}), {})
                           ->Plan(request, observer));
  EXPECT_LE(result.stats.pairs - result.stats.pruned_redundant, cost.num_pairs);
  EXPECT_LE(result.stats.finalists, cost.num_evaluations);
}

TEST(EstimateCostTest, TheLargestRequestStaysBelow300Megabytes) {
  PlanRequest request = RequestOf(kMaxTransformerLayers, 14'414'400);
  for (int i = 1; i <= kMaxTransformerLayers; ++i) {
    request.model.layers[i].ffn_hidden_size = 64 * i;  // All different.
  }
  Cluster& cluster = request.cluster;
  cluster.nodes.resize(kMaxNodes, cluster.nodes.front());
  cluster.groups.resize(kMaxGroups);
  ASSERT_OK_AND_ASSIGN(const PlanCost cost, EstimateCost(request, {}));
  EXPECT_EQ(cost.num_islands, kMaxIslands);
  EXPECT_EQ(cost.num_microbatch_sizes, 504);
  // Excludes the three copies of the largest cluster: 400 bytes per node and 24
  // per link. The messages of the request take as much.
  EXPECT_LT(cost.bytes, 300e6 + 3 * (kMaxNodes * 400.0 + 24e6));
}

TEST(EstimateCostTest, NamesTheFieldThatIsTooLarge) {
  PlanRequest deep = RequestOf(1, 8);
  deep.model.layers.resize(kMaxLayers + 1, deep.model.layers[1]);
  EXPECT_THAT(EstimateCost(deep, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("model.layers: 16385; expected 1 to 16384")));
  EXPECT_THAT(EstimateCost(RequestOf(1, 100'000'000), {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("training.global_batch_size: 100000000; "
                                 "expected at most 16777216")));
  PlanRequest long_context = RequestOf(1, 8);
  long_context.training.sequence_length = kMaxPositions + 1;
  EXPECT_THAT(EstimateCost(long_context, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("training.sequence_length: ")));
}

TEST(EstimateCostTest, OperatorsLimitsNameTheirFlags) {
  const PlanCost cost{.num_pairs = 1000, .bytes = 64 << 20};
  EXPECT_TRUE(CheckCost(cost, {}).ok());
  EXPECT_TRUE(CheckCost(cost, {.max_pairs = 1000, .max_bytes = 64 << 20}).ok());
  EXPECT_THAT(CheckCost(cost, {.max_pairs = 999}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("--max_plan_pairs: ")));
  EXPECT_THAT(CheckCost(cost, {.max_bytes = 63 << 20}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("--max_plan_mb: ")));
}

}  // namespace
}  // namespace tangram
