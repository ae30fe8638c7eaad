#include "coordinator/planners/replicas/node_groups.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

Island IslandOf(const std::string& type, int num_nodes) {
  Island island{.spec = testing::TestIsland(num_nodes, 4)};
  island.spec.device = testing::TestDevice(type);
  for (int n = 0; n < num_nodes; ++n) island.nodes.push_back(n);
  return island;
}

TEST(FirstPartitionsTest, IslandsAreAloneAndTypesAreTogether) {
  const std::vector<Partition> first = FirstPartitions(std::vector<Island>{
      IslandOf("A", 2), IslandOf("B", 3), IslandOf("A", 1)});
  EXPECT_THAT(
      first, ElementsAre(
                 UnorderedElementsAre(NodeGroup{2, 0, 0}, NodeGroup{0, 3, 0},
                                      NodeGroup{0, 0, 1}),
                 UnorderedElementsAre(NodeGroup{2, 0, 1}, NodeGroup{0, 3, 0})));
}

TEST(FirstPartitionsTest, IslandsOfUnlikeTypesHaveOnePartition) {
  EXPECT_THAT(
      FirstPartitions(std::vector<Island>{IslandOf("A", 2), IslandOf("B", 3)}),
      SizeIs(1));
}

TEST(NeighboursOfTest, OneIslandIsDividedInHalvesAndPowersOfTwo) {
  // 6 = 3 + 3 = 4 + 2.
  EXPECT_THAT(NeighboursOf({{6}}, 4),
              UnorderedElementsAre(Partition{{3}, {3}}, Partition{{2}, {4}}));
}

TEST(NeighboursOfTest, ASingleNodeHasNone) {
  EXPECT_THAT(NeighboursOf({{1}}, 4), IsEmpty());
}

TEST(NeighboursOfTest, GroupsMergeAndIslandsMove) {
  const std::vector<Partition> found = NeighboursOf({{0, 1}, {1, 0}}, 4);
  EXPECT_THAT(found, ElementsAre(Partition{{1, 1}}));
  EXPECT_THAT(NeighboursOf({{1, 1, 0}, {0, 0, 1}}, 4),
              AllOf(Contains(Partition{{0, 1, 0}, {1, 0, 1}}),
                    Contains(Partition{{0, 0, 1}, {0, 1, 0}, {1, 0, 0}}),
                    Contains(Partition{{1, 1, 1}})));
}

TEST(NeighboursOfTest, NoneHasMoreGroupsThanAllowed) {
  const std::vector<Partition> found = NeighboursOf({{4, 0}, {0, 4}}, 2);
  EXPECT_THAT(found, Each(SizeIs(::testing::Le(2u))));
  EXPECT_THAT(found, Not(IsEmpty()));
}

}  // namespace
}  // namespace tangram
