#include "common/domain/keep_nodes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

TEST(KeepNodesTest, KeepsTheFirstOfEachGroupWithTheirLinks) {
  Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 2, .device = testing::TestDevice("A")},
       {.name = "b", .num_nodes = 3, .device = testing::TestDevice("B")},
       {.name = "c", .num_nodes = 1, .device = testing::TestDevice("C")}});
  cluster.links[1][2].latency_s = 7;
  cluster.assumptions = {{.field = MemoryFieldOf("A")},
                         {.field = MemoryFieldOf("B")},
                         {.field = "groups[0].gpu"}};
  const Cluster kept = KeepNodes(cluster, {{0, 2, 1}});
  EXPECT_THAT(kept.groups, ElementsAre("b", "c"));
  ASSERT_EQ(kept.nodes.size(), 3);
  EXPECT_EQ(kept.nodes[1].name, "b-1");
  EXPECT_EQ(kept.nodes[2].group, 1);
  EXPECT_EQ(kept.links[0][1].latency_s, 7);
  // Nothing is assumed of GPUs that are gone.
  ASSERT_EQ(kept.assumptions.size(), 2);
  EXPECT_EQ(kept.assumptions[0].field, MemoryFieldOf("B"));
  EXPECT_THAT(NodesOfGroups(kept), ElementsAre(2, 1));
}

}  // namespace
}  // namespace tangram
