#include "cli/remote/node_loss.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;
using testing::TestCluster;
using testing::TestGroup;

std::vector<std::string> NodesOf(const PlanRequest& request) {
  std::vector<std::string> names;
  for (const Node& node : request.cluster->nodes) names.push_back(node.name);
  return names;
}

TEST(NodeLossTest, EachGroupLosesANode) {
  const PlanRequest request{
      .cluster = TestCluster(std::vector<TestGroup>{
          {.name = "a", .num_nodes = 2}, {.name = "b", .num_nodes = 1}})};
  const auto reduced = WithoutANode(request);
  ASSERT_THAT(reduced, testing::IsOk());
  ASSERT_EQ(reduced->size(), 2u);
  EXPECT_EQ(reduced->at(0).lost, "a");
  EXPECT_THAT(NodesOf(reduced->at(0).request), ElementsAre("a-0", "b-0"));
  EXPECT_EQ(reduced->at(1).lost, "b");
  EXPECT_THAT(NodesOf(reduced->at(1).request), ElementsAre("a-0", "a-1"));
}

TEST(NodeLossTest, AClusterOfOneNodeHasNoRequests) {
  const PlanRequest request{.cluster = TestCluster(std::vector<TestGroup>{
                                {.name = "a", .num_nodes = 1}})};
  EXPECT_THAT(*WithoutANode(request), IsEmpty());
}

TEST(NodeLossTest, TooManyGroupsAreRefused) {
  std::vector<TestGroup> groups;
  for (int i = 0; i < 33; ++i) {
    groups.push_back({.name = std::string(i + 1, 'g'), .num_nodes = 1});
  }
  EXPECT_THAT(WithoutANode({.cluster = TestCluster(groups)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("33 groups of nodes; expected at most 32")));
}

}  // namespace
}  // namespace tangram
