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
          .recompute = LayerRecompute::kWholeLayer,
          .pp_degree = 4,
          .schedule = PipelineSchedule::kInterleaved,
          .virtual_stages = 2,
          .ep_degree = 8,
          .zero_stage = 0,
          .zero_degree = 8};
}

TEST(PlanConstraintsTest, AreDescribedOneByOne) {
  EXPECT_THAT(
      DescribeConstraints(All()),
      ElementsAre("without node t4-0", "without node t4-1",
                  "without island V100", "tp 4", "tp 2 on a100", "dp 8",
                  "cp 2 on h100", "stages at most 6", "layers 0-11 on a100",
                  "layer 12 on h100", "runtime megatron", "recompute full",
                  "pp 4", "schedule interleaved", "vpp 2", "ep 8", "zero 0",
                  "zero over 8"));
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

TEST(PlanConstraintsTest, ChunksDemandTheInterleavedSchedule) {
  EXPECT_EQ(DemandedSchedule({}), std::nullopt);
  EXPECT_EQ(DemandedSchedule({.virtual_stages = 1}), std::nullopt);
  EXPECT_EQ(DemandedSchedule({.virtual_stages = 2}),
            PipelineSchedule::kInterleaved);
  EXPECT_TRUE(DemandsRescheduling({.virtual_stages = 2}));
  EXPECT_FALSE(DemandsRescheduling({.schedule = PipelineSchedule::kOneFOneB}));
}

TEST(WhyNotAskedTest, NamesWhatIsOther) {
  PipelinePlan plan{.stages = std::vector<PlacedStage>(4)};
  EXPECT_EQ(WhyNotAsked({}, plan), "");
  EXPECT_EQ(WhyNotAsked({.pp_degree = 4, .virtual_stages = 1}, plan), "");
  EXPECT_EQ(WhyNotAsked({.pp_degree = 2}, plan), "pp 4, expected 2");
  EXPECT_EQ(WhyNotAsked({.virtual_stages = 2}, plan),
            "schedule 1f1b, expected interleaved");
  plan.warm_up_passes = {7, 5, 3, 1};
  EXPECT_EQ(WhyNotAsked({.schedule = PipelineSchedule::kOneFOneB}, plan),
            "more warm-up passes, expected those of 1f1b");
  plan.warm_up_passes.clear();
  plan.schedule = PipelineSchedule::kInterleaved;
  plan.virtual_stages = 2;
  // Two devices with two chunks each.
  EXPECT_EQ(WhyNotAsked({.pp_degree = 2, .virtual_stages = 2}, plan), "");
  EXPECT_EQ(WhyNotAsked({.virtual_stages = 4}, plan), "vpp 2, expected 4");
}

}  // namespace
}  // namespace tangram
