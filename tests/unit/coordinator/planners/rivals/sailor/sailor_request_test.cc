#include "coordinator/planners/rivals/sailor/sailor_request.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram::sailor {
namespace {

using ::testing::ElementsAre;

// Two nodes of B, one of A. 100 GB/s inside a node, 10 GB/s between nodes of a
// group, 1 GB/s between groups.
struct Converted {
  Cluster cluster = testing::TestCluster(
      {{.name = "b", .num_nodes = 2, .device = testing::TestDevice("B")},
       {.name = "a", .num_nodes = 1, .device = testing::TestDevice("A")}});
  ModelSpec model = testing::TestModel(2);
  LayerProfiles profiles =
      ProfileLayers(model, cluster, testing::TestTraining(8),
                    {.max_tp_degree = 4, .max_samples = 2});
  TypedNodes typed;

  Input For(Mode mode) {
    return InputOf(cluster, profiles, /*global_batch=*/8, mode, typed);
  }
};

TEST(SailorRequestTest, OrdersTypesByName) {
  Converted converted;
  const Input input = converted.For(Mode::kCorrected);
  EXPECT_EQ(input.types[0].name, "A");
  EXPECT_THAT(input.zones[0].gpus, ElementsAre(4, 8));
  EXPECT_THAT(converted.typed.nodes,
              ElementsAre(ElementsAre(2), ElementsAre(0, 1)));
  EXPECT_EQ(input.gradient_bytes.size(), 4u);
}

TEST(SailorRequestTest, TakesTheSlowestLinks) {
  Converted converted;
  converted.cluster.links[0][0].pair_bandwidth_bytes_per_s = 4e9;
  converted.cluster.links[0][0].latency_s = 3e-6;
  const Input input = converted.For(Mode::kCorrected);
  const auto path = [&](Endpoint from, Endpoint to) {
    return input.paths.at({from, to});
  };
  // Pairs between nodes of B, up to the rate of the node.
  EXPECT_EQ(path({0, 1, 1}, {0, 1, 1}).most_bytes_per_s, 4e9);
  EXPECT_EQ(path({0, 1, 2}, {0, 1, 2}).c, 8);
  EXPECT_EQ(path({0, 1, 4}, {0, 1, 4}).c, 10);
  EXPECT_EQ(path({0, 1, 4}, {0, 1, 1}).c, 4);
  EXPECT_EQ(path({0, 1, 1}, {0, 1, 1}).latency_s, 3e-6);
  // A has one node.
  EXPECT_EQ(path({0, 0, 1}, {0, 0, 1}).c, 100);
  EXPECT_EQ(path({0, 0, 1}, {0, 1, 1}).c, 1);
}

TEST(SailorRequestTest, CountsMemoryAsTheModeDoes) {
  Converted converted;
  const LayerProfile& layer = converted.profiles.Find({0, 2, 1})->at(1);
  const auto state = [&](Mode mode) {
    return converted.For(mode).profiles.at({1, 2, 1}).layers.at(1).state_bytes;
  };
  EXPECT_EQ(state(Mode::kCorrected), layer.state_bytes);
  EXPECT_EQ(state(Mode::kUpstream), 24 * layer.parameters);
  EXPECT_EQ(state(Mode::kFork), 16 * layer.parameters);
  const Input fork = converted.For(Mode::kFork);
  EXPECT_EQ(fork.profiles.at({1, 1, 1}).reserved_bytes, 2e9);
  EXPECT_EQ(fork.profiles.at({1, 2, 1}).reserved_bytes, 3e9);
}

}  // namespace
}  // namespace tangram::sailor
