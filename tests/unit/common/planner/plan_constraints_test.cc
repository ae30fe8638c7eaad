#include "common/planner/plan_constraints.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

PlanConstraints All() {
  return {.exclude_nodes = {"t4-0", "t4-1"},
          .exclude_islands = {"V100"},
          .tp_degrees = {{"", 4}, {"a100", 2}},
          .dp_degrees = {{"", 8}},
          .cp_degrees = {{"h100", 2}},
          .max_stages = {{"", 6}},
          .pins = {{0, 11, "a100"}, {12, 12, "h100"}},
          .runtime = "megatron",
          .recompute = LayerRecompute::kWholeLayer};
}

TEST(PlanConstraintsTest, AreDescribedOneByOne) {
  EXPECT_THAT(
      DescribeConstraints(All()),
      ElementsAre("without node t4-0", "without node t4-1",
                  "without island V100", "tp 4", "tp 2 on a100", "dp 8",
                  "cp 2 on h100", "stages at most 6", "layers 0-11 on a100",
                  "layer 12 on h100", "runtime megatron", "recompute full"));
  EXPECT_TRUE(PlanConstraints().none());
  EXPECT_FALSE(All().none());
}

TEST(PlanConstraintsTest, WithoutLeavesOutTheOneDescribed) {
  const std::vector<std::string> all = DescribeConstraints(All());
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<std::string> expected = all;
    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(DescribeConstraints(Without(All(), i)), expected);
  }
}

}  // namespace
}  // namespace tangram
