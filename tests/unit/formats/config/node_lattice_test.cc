#include "formats/config/node_lattice.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

// 3 nodes of h100, and 8 of t4.
Cluster TwoGroups() {
  Cluster cluster{.groups = {"h100", "t4"}};
  for (int n = 0; n < 11; ++n) {
    cluster.nodes.push_back({.group = n < 3 ? 0 : 1});
  }
  return cluster;
}

TEST(ParseNodeLatticeTest, ReadsRangesListsAndPowers) {
  EXPECT_THAT(
      ParseNodeLattice("", TwoGroups()),
      IsOkAndHolds(ElementsAre(ElementsAre(0, 1, 2, 3),
                               ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8))));
  EXPECT_THAT(ParseNodeLattice("t4=0..8:3", TwoGroups()),
              IsOkAndHolds(ElementsAre(ElementsAre(3), ElementsAre(0, 3, 6))));
  EXPECT_THAT(
      ParseNodeLattice("h100=2|0|2,t4=1..8:x2", TwoGroups()),
      IsOkAndHolds(ElementsAre(ElementsAre(0, 2), ElementsAre(1, 2, 4, 8))));
  EXPECT_THAT(ParseNodeLattice("t4=7..8|1", TwoGroups()),
              IsOkAndHolds(ElementsAre(ElementsAre(3), ElementsAre(1, 7, 8))));
}

TEST(ParseNodeLatticeTest, RefusalsNameWhatIsWrong) {
  const struct {
    std::string text;
    std::string message;
  } cases[] = {
      {"t4", "nodes: t4; expected <group>=<numbers>"},
      {"t4=", "nodes: t4=; expected <group>=<numbers>"},
      {"t4=a", "nodes: t4=a; expected"},
      {"t4=1..", "nodes: t4=1..; expected <group>=<numbers>"},
      {"t4=1..4:0", "nodes: t4=1..4:0; expected <group>=<numbers>"},
      {"t4=0..4:x2", "nodes: t4=0..4:x2; expected <group>=<numbers>"},
      {"t4=1..4:x1", "nodes: t4=1..4:x1; expected <group>=<numbers>"},
      {"t4=4..1", "nodes: t4=4..1; expected ascending numbers from 0 to 8"},
      {"t4=9", "nodes: t4=9; expected ascending numbers from 0 to 8"},
      {"t4=-1", "nodes: t4=-1; expected ascending numbers from 0 to 8"},
      {"t4=1,t4=2", "nodes: t4; expected each group once"},
      {"x=1", "nodes: x; expected one of the groups h100, t4"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(
        ParseNodeLattice(text, TwoGroups()),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

}  // namespace
}  // namespace tangram
