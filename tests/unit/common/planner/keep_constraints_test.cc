#include "common/planner/keep_constraints.h"

#include "common/domain/keep_nodes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

TEST(KeepConstraintsTest, DropsThoseOnWhatIsNotThere) {
  const Cluster whole = testing::TestCluster(
      {{.name = "a", .num_nodes = 2}, {.name = "b", .num_nodes = 1}});
  const PlanConstraints asked = {.exclude_nodes = {"a-0", "a-1", "b", "x"},
                                 .exclude_islands = {"B", "1"},
                                 .tp_degrees = {{"", 4}, {"b", 2}, {"a", 1}},
                                 .pins = {{0, 1, "b"}},
                                 .runtime = "megatron"};
  EXPECT_EQ(KeepConstraints(whole, whole, asked), asked);
  const PlanConstraints kept =
      KeepConstraints(whole, KeepNodes(whole, {1, 0}), asked);
  // Names that no node has are refused later.
  EXPECT_THAT(kept.exclude_nodes, ElementsAre("a-0", "x"));
  EXPECT_THAT(kept.exclude_islands, ElementsAre("1"));
  EXPECT_THAT(kept.tp_degrees,
              ElementsAre(IslandValue{"", 4}, IslandValue{"a", 1}));
  EXPECT_EQ(kept.pins, asked.pins);
  EXPECT_EQ(kept.runtime, "megatron");
}

}  // namespace
}  // namespace tangram
