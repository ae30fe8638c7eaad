#include "common/sim/unlike_ring.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"

namespace tangram {
namespace {

using testing::MixedOn;
using testing::NodeGpus;

// Two nodes with a latency of 1 s and next to no transfer time.
Cluster SlowToStart() {
  Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 2, .device = testing::TestDevice()}});
  cluster.links[0][0].latency_s = 1;
  cluster.links[0][0].bandwidth_bytes_per_s = 1e30;
  cluster.links[0][0].pair_bandwidth_bytes_per_s = 1e30;
  return cluster;
}

double RingSecondsOf(int64_t shards_a, int64_t shards_b, double parameters) {
  const Cluster cluster = SlowToStart();
  const RingMember a = {.gpus = PathEndOf(cluster, NodeGpus(0, 1)),
                        .fewest_shards = shards_a,
                        .pieces = shards_a};
  const RingMember b = {.gpus = PathEndOf(cluster, NodeGpus(1, 1)),
                        .fewest_shards = shards_b,
                        .pieces = shards_b};
  return RingSeconds(
      cluster, std::vector<const RingMember*>{&a, &b},
      AllReduceTraffic(parameters, /*parameter_bytes=*/2, /*num_members=*/2));
}

TEST(RingSecondsTest, EveryPieceHasItsOwnRing) {
  // Two messages in each of q / min t rings.
  EXPECT_DOUBLE_EQ(RingSecondsOf(1, 1, 1e6), 2);
  EXPECT_DOUBLE_EQ(RingSecondsOf(2, 4, 1e6), 4);
  EXPECT_DOUBLE_EQ(RingSecondsOf(2, 3, 1e6), 6);
}

TEST(RingSecondsTest, ThereAreNoMorePiecesThanParameters) {
  EXPECT_DOUBLE_EQ(RingSecondsOf(1, 1 << 20, 100), 200);
  // lcm(2^31 − 1, 2^31 − 19) is more than 2^61.
  EXPECT_DOUBLE_EQ(RingSecondsOf(2147483647, 2147483629, 100), 2);
  EXPECT_DOUBLE_EQ(RingSecondsOf(1, int64_t{1} << 60, 10), 20);
}

TEST(MemberOfTest, AMixedStageHasTheShardsOfAllItsGroups) {
  const Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 1, .device = testing::TestDevice()}});
  const PlacedStage stage =
      MixedOn(0, 3,
              {.groups = {{.parallelism = {.tp_degree = 4}, .share = 1},
                          {.parallelism = {.tp_degree = 3}, .share = 1},
                          {.parallelism = {.tp_degree = 2}, .share = 1}}},
              NodeGpus(0, 9));
  const RingMember member = MemberOf(cluster, stage);
  EXPECT_EQ(member.fewest_shards, 2);
  EXPECT_EQ(member.pieces, 12);
  EXPECT_EQ(member.gpus.num_gpus, 9);
}

TEST(ParametersOfTest, CountsTheOperatorsBetweenTwoCuts) {
  const ModelSpec model = testing::TestModel(4);
  const double layer = ParameterCount(model.layers[1]);
  EXPECT_EQ(ParametersOf(model, {1, 0}, {3, 0}), 2 * layer);
  EXPECT_EQ(
      ParametersOf(model, {1, 0}, {1, 4}) + ParametersOf(model, {1, 4}, {2, 0}),
      layer);
}

TEST(ParametersOfTest, CountsATiedMatrixOnceBetweenBothEnds) {
  ModelSpec model = testing::TestModel(4);
  model.layers.front().tied_embeddings = true;
  model.layers.back().tied_embeddings = true;
  const double matrix = ParameterCount(model.layers.back(), OpKind::kHead);
  EXPECT_EQ(ParametersOf(model, {0, 0}, {6, 0}), ParameterCount(model));
  EXPECT_EQ(
      ParametersOf(model, {0, 0}, {2, 0}) + ParametersOf(model, {2, 0}, {6, 0}),
      ParameterCount(model) + matrix);
}

}  // namespace
}  // namespace tangram
