#include "coordinator/planners/replicas/exchange_estimate.h"

#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

TEST(ExchangeSecondsTest, TheGroupWithTheLeastBandwidthDecides) {
  // Two groups of nodes with 1 GB/s between them and 10 GB/s inside.
  const Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 4}, {.name = "b", .num_nodes = 2}}, 1e9);
  std::vector<Island> islands(2);
  islands[0].nodes = {0, 1, 2, 3};
  islands[1].nodes = {4, 5};
  // 2 (2 - 1) / 2 = 1 of 8 GB leaves each pipeline: 4 s from 2 nodes of 1 GB/s.
  EXPECT_DOUBLE_EQ(ExchangeSeconds(cluster, islands, {{4, 0}, {0, 2}}, 8e9), 4);
  // 2 (3 - 1) / 3 = 4/3 of it: 8/3 GB/s over 2 nodes.
  EXPECT_DOUBLE_EQ(
      ExchangeSeconds(cluster, islands, {{2, 0}, {2, 0}, {0, 2}}, 8e9),
      4.0 / 3 * 4);
}

TEST(ExchangeSecondsTest, OneGroupExchangesNothing) {
  const Cluster cluster = testing::TestCluster({{.name = "a", .num_nodes = 2}});
  std::vector<Island> islands(1);
  islands[0].nodes = {0, 1};
  EXPECT_EQ(ExchangeSeconds(cluster, islands, {{2}}, 8e9), 0);
}

}  // namespace
}  // namespace tangram
