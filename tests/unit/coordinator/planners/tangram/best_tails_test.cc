#include "coordinator/planners/tangram/best_tails.h"

#include "gtest/gtest.h"

namespace tangram {
namespace {

constexpr TailPlace kPlace = {.begin = 3, .islands = 5, .num_stages = 2};

TailBound BoundOf(double passes_s, double window_s) {
  return {.passes_s = passes_s, .num_stages = 2, .windows_s = {window_s}};
}

TEST(BestTailsTest, LeavesOutATailThatIsNoBetterInAnything) {
  BestTails best;
  EXPECT_TRUE(best.Add(kPlace, BoundOf(10, 3)));
  EXPECT_FALSE(best.Add(kPlace, BoundOf(10, 3)));
  EXPECT_FALSE(best.Add(kPlace, BoundOf(11, 3)));
  // It is better in its window.
  EXPECT_TRUE(best.Add(kPlace, BoundOf(11, 2)));
  EXPECT_FALSE(best.Add(kPlace, BoundOf(12, 2)));
}

TEST(BestTailsTest, TellsPlacesApart) {
  BestTails best;
  EXPECT_TRUE(best.Add(kPlace, BoundOf(10, 3)));
  TailPlace other = kPlace;
  other.first_end = 1;
  EXPECT_TRUE(best.Add(other, BoundOf(11, 4)));
  other = kPlace;
  other.num_stages = 1;
  EXPECT_TRUE(best.Add(other, BoundOf(11, 4)));
  best.Clear();
  EXPECT_TRUE(best.Add(kPlace, BoundOf(12, 5)));
}

}  // namespace
}  // namespace tangram
