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
  // Collectives take the same time in both passes: (4 − 1) / 2.
  EXPECT_EQ(
      WeightGradientSeconds({.forward_s = 2, .backward_s = 4, .comm_s = 2}),
      1.5);
  // Everything is recomputed, so a third of the collectives is in the gradient
  // computation: (6 − 2 − 1) / 2.
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
