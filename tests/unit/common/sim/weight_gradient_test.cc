#include "common/sim/weight_gradient.h"

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(WeightGradientSecondsTest, IsHalfOfAPlainBackwardPass) {
  EXPECT_EQ(WeightGradientSeconds({.forward_s = 1, .backward_s = 2}), 1);
}

TEST(WeightGradientSecondsTest, LeavesRecomputationWithTheInputGradient) {
  EXPECT_EQ(WeightGradientSeconds(
                {.forward_s = 1, .backward_s = 3, .recompute_s = 1}),
            1);
}

TEST(WeightGradientSecondsTest, LeavesCollectivesWithTheInputGradient) {
  // As much in the backward as in the forward pass: (4 − 1) / 2.
  EXPECT_EQ(
      WeightGradientSeconds({.forward_s = 2, .backward_s = 4, .comm_s = 2}),
      1.5);
  // All recomputed, so a third of them in the gradients: (6 − 2 − 1) / 2.
  EXPECT_EQ(
      WeightGradientSeconds(
          {.forward_s = 2, .backward_s = 6, .recompute_s = 2, .comm_s = 3}),
      1.5);
}

TEST(WeightGradientSecondsTest, IsNeverNegative) {
  EXPECT_EQ(
      WeightGradientSeconds({.forward_s = 1, .backward_s = 0.5, .comm_s = 1.5}),
      0);
  EXPECT_EQ(WeightGradientSeconds({}), 0);
}

}  // namespace
}  // namespace tangram
