#include "formats/config/limit_nodes.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOk;
using ::tangram::testing::IsOkAndHolds;
using ::tangram::testing::StatusIs;
using ::tangram::testing::TestCluster;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Three groups whose links have distinct latencies, 10·from + to.
Cluster ThreeGroups() {
  Cluster cluster =
      TestCluster({{.name = "t4", .num_nodes = 3, .device = {}},
                   {.name = "v100", .num_nodes = 2, .device = {}},
                   {.name = "a100", .num_nodes = 1, .device = {}}});
  for (int from = 0; from < 3; ++from) {
    for (int to = 0; to < 3; ++to) {
      cluster.links[from][to].latency_s = 10 * from + to;
    }
  }
  return cluster;
}

std::vector<std::string> NodeNames(const Cluster& cluster) {
  std::vector<std::string> names;
  for (const Node& node : cluster.nodes) names.push_back(node.name);
  return names;
}

TEST(LimitNodesTest, KeepsTheFirstNodesOfNamedGroups) {
  Cluster cluster = ThreeGroups();
  ASSERT_THAT(LimitNodes({{"t4", 2}, {"v100", 1}}, cluster), IsOk());
  EXPECT_THAT(NodeNames(cluster),
              ElementsAre("t4-0", "t4-1", "v100-0", "a100-0"));
  EXPECT_THAT(cluster.groups, ElementsAre("t4", "v100", "a100"));
}

TEST(LimitNodesTest, AssumesNothingAboutAGroupThatIsLeftOut) {
  Cluster cluster = ThreeGroups();
  cluster.assumptions = {{"groups[t4].memory", "1", "x"},
                         {"nodes[v100].memory", "2", "x"},
                         {"links[t4 to v100]", "3", "x"},
                         {"links[a100 to t4]", "4", "x"},
                         {"links", "5", "x"}};
  ASSERT_THAT(LimitNodes({{"v100", 0}}, cluster), IsOk());
  std::vector<std::string> values;
  for (const Assumption& a : cluster.assumptions) values.push_back(a.value);
  EXPECT_THAT(values, ElementsAre("1", "4", "5"));
}

TEST(LimitNodesTest, RemovesAGroupAndItsLinks) {
  Cluster cluster = ThreeGroups();
  ASSERT_THAT(LimitNodes({{"v100", 0}}, cluster), IsOk());
  EXPECT_THAT(NodeNames(cluster),
              ElementsAre("t4-0", "t4-1", "t4-2", "a100-0"));
  EXPECT_THAT(cluster.groups, ElementsAre("t4", "a100"));
  EXPECT_EQ(cluster.nodes.back().group, 1);
  ASSERT_EQ(cluster.links.size(), 2);
  EXPECT_EQ(cluster.LinkBetween(0, 3).latency_s, 2);   // t4 to a100.
  EXPECT_EQ(cluster.LinkBetween(3, 0).latency_s, 20);  // a100 to t4.
  EXPECT_EQ(cluster.LinkBetween(0, 1).latency_s, 0);   // t4 to t4.
}

TEST(LimitNodesTest, RefusesWhatCannotBeAndChangesNothing) {
  struct Case {
    std::vector<NodeCount> counts;
    std::string message;
  };
  const Case cases[] = {
      {{{"h100", 1}}, "nodes: h100; expected one of the groups t4, v100, a100"},
      {{{"t4", 4}}, "nodes: t4=4; expected 0 to 3 nodes"},
      {{{"t4", -1}}, "nodes: t4=-1; expected 0 to 3 nodes"},
      {{{"t4", 1}, {"t4", 1}}, "nodes: t4; expected each group once"},
      {{{"t4", 0}, {"v100", 0}, {"a100", 0}},
       "nodes: none left; expected at least one node"},
  };
  for (const Case& c : cases) {
    Cluster cluster = ThreeGroups();
    EXPECT_THAT(LimitNodes(c.counts, cluster),
                StatusIs(absl::StatusCode::kInvalidArgument, c.message));
    EXPECT_EQ(cluster.nodes.size(), 6);
  }
}

TEST(ParseNodeCountsTest, ReadsACommaSeparatedList) {
  EXPECT_THAT(
      ParseNodeCounts("t4=2,v100=0"),
      IsOkAndHolds(ElementsAre(NodeCount("t4", 2), NodeCount("v100", 0))));
}

TEST(ParseNodeCountsTest, RefusesAnythingElse) {
  for (const std::string text :
       {"", "t4", "t4=", "t4=x", "=2", "t4=2,", "t4=99999999999", "t4=2=3"}) {
    EXPECT_THAT(ParseNodeCounts(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("expected <group>=<number>")));
  }
}

}  // namespace
}  // namespace tangram
