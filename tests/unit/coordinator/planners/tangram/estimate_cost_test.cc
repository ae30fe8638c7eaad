#include "coordinator/planners/tangram/estimate_cost.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "common/domain/limits.h"
#include "coordinator/islands/build_islands.h"
#include "coordinator/planners/judge/judged_planner.h"
#include "coordinator/planners/tangram/atom_groups.h"
#include "coordinator/planners/tangram/planning_limits.h"
#include "coordinator/planners/tangram/tangram_planner.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/fake_slice_plan_source.h"
#include "tests/testing/heap/heap_meter.h"
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
  Cluster& cluster = request.cluster.MakeOwn();
  const Node node = cluster.nodes.front();
  cluster.nodes.resize(kMaxNodes, node);
  cluster.groups.resize(kMaxGroups);
  const double gpus = cluster.num_gpus();
  ASSERT_OK_AND_ASSIGN(const PlanCost cost, EstimateCost(request, {}));
  EXPECT_EQ(cost.num_islands, kMaxIslands);
  EXPECT_EQ(cost.num_microbatch_sizes, 504);
  // Excludes the two copies of the largest cluster, 430 bytes per node and 24
  // per link, and plans of the whole cluster. No request has all the rest at
  // once: the tables of islands are gone before the first slice.
  EXPECT_LT(cost.bytes, 381e6 + 2 * (kMaxNodes * 430.0 + 24e6) +
                            65 * (gpus * 8 + gpus * 300));
}

// Fewer islands than the most possible leave room for finer groups of atoms.
TEST(EstimateCostTest, HoldsForFewerIslandsThanPossible) {
  PlanRequest request = RequestOf(400, 14'414'400);
  request.cluster = testing::TestCluster({{.name = "a", .num_nodes = 16}});
  ASSERT_OK_AND_ASSIGN(const PlanCost cost, EstimateCost(request, {}));
  for (int islands = 1; islands <= cost.num_islands; ++islands) {
    const SearchSize size =
        GroupAtoms(OutlinesOf(request.model), /*merge_equal=*/true,
                   int64_t{islands} * cost.num_microbatch_sizes)
            .size;
    EXPECT_LE(size.num_atoms, cost.num_atoms) << islands;
    EXPECT_LE(size.num_slices, cost.num_slices) << islands;
    EXPECT_LE(size.num_pairs, cost.num_pairs) << islands;
  }
}

// Returns a request of random size for one to three kinds of nodes.
PlanRequest RandomRequest(std::mt19937& rng) {
  std::vector<testing::TestGroup> groups;
  const int num_groups = 1 + static_cast<int>(rng() % 3);
  for (int g = 0; g < num_groups; ++g) {
    DeviceSpec device = testing::TestDevice("G" + std::to_string(g));
    device.memory_bytes *= 1 + static_cast<double>(rng() % 8);
    groups.push_back({.name = "g" + std::to_string(g),
                      .num_nodes = 1 + static_cast<int>(rng() % 40),
                      .gpus_per_node = 1 << rng() % 4,
                      .device = device});
  }
  PlanRequest request{
      .cluster = testing::TestCluster(groups),
      .model = testing::TestModel(1 + static_cast<int>(rng() % 40)),
      .training = testing::TestTraining(1 << rng() % 7)};
  // Some layers differ from the others.
  const int period = 1 + static_cast<int>(rng() % 8);
  for (int l = 1; l + 1 < request.model.num_layers(); l += period) {
    request.model.layers[l].ffn_hidden_size *= 2;
  }
  return request;
}

// Some plans do not fit, so that the judge refuses them and asks again.
TEST(EstimateCostTest, IsAtLeastTheCountsAndBytesOfRandomRequests) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const PlanRequest request = RandomRequest(rng);
    const TangramOptions options{
        .pruning = {.redundancy = rng() % 4 > 0, .imbalance = rng() % 2 > 0}};
    ASSERT_OK_AND_ASSIGN(const PlanCost cost, EstimateCost(request, options));
    testing::FakeSlicePlanSource source;
    if (rng() % 2 > 0) source.bears = [](int trailing) { return trailing; };
    testing::SilentObserver observer;
    const testing::HeapMeter heap;
    ASSERT_OK_AND_ASSIGN(
        const PlanResult result,
        CreateJudgedPlanner(CreateTangramPlanner(source, options), {})
            ->Plan(request, observer));
    EXPECT_LE(static_cast<int>(result.islands.size()), cost.num_islands);
    EXPECT_LE(result.stats.pairs - result.stats.pruned_redundant,
              cost.num_pairs);
    EXPECT_LE(result.stats.queries - result.stats.requeries, cost.num_pairs);
    EXPECT_LE(result.stats.finalists, cost.num_evaluations);
    EXPECT_LE(heap.peak_bytes(), cost.bytes);
  }
}

// With every proposal refused, the judge scores all that it may.
TEST(EstimateCostTest, CountsEveryPipelineThatMayBeJudged) {
  const PlanRequest request = RequestOf(4, 8);
  ASSERT_OK_AND_ASSIGN(const PlanCost cost, EstimateCost(request, {}));
  EXPECT_EQ(cost.num_evaluations, kMaxJudged - 1 + kMaxFinalists);
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
