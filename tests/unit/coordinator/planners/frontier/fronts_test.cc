#include "coordinator/planners/frontier/fronts.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Optional;

TEST(NotDominatedTest, KeepsTheFirstOfEqualPoints) {
  EXPECT_THAT(NotDominated(std::vector<std::optional<FrontFigures>>{
                  FrontFigures{2, 1}, std::nullopt, FrontFigures{1, 2},
                  FrontFigures{2, 2}, FrontFigures{2, 1}}),
              ElementsAre(0, 2));
}

// Compares with the definition, on random points with many equal figures.
TEST(NotDominatedTest, EqualsTheDefinition) {
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::optional<FrontFigures>> points(1 + random() % 40);
    for (auto& point : points) {
      point.emplace();
      for (double& figure : *point) figure = static_cast<double>(random() % 4);
    }
    std::vector<int64_t> expected;
    for (size_t i = 0; i < points.size(); ++i) {
      bool is_beaten = false;
      for (size_t j = 0; j < points.size(); ++j) {
        bool no_worse = true;
        for (size_t f = 0; f < kFrontFigures; ++f) {
          no_worse &= (*points[j])[f] <= (*points[i])[f];
        }
        is_beaten |= no_worse && (points[j] != points[i] || j < i);
      }
      if (!is_beaten) expected.push_back(static_cast<int64_t>(i));
    }
    EXPECT_EQ(NotDominated(points), expected) << "round " << round;
  }
}

TEST(KneeOfTest, IsFarthestBelowTheLineBetweenTheEnds) {
  const std::vector<std::optional<TimeAndPrice>> points = {
      TimeAndPrice{100, 1}, TimeAndPrice{20, 2}, TimeAndPrice{15, 8},
      TimeAndPrice{10, 100}};
  EXPECT_THAT(KneeOf(std::vector<int64_t>{0, 1, 2, 3}, points),
              Optional(Eq(1)));
  EXPECT_EQ(KneeOf(std::vector<int64_t>{0, 3}, points), std::nullopt);
}

TEST(KneeOfTest, AStraightFrontHasNone) {
  const std::vector<std::optional<TimeAndPrice>> points = {
      TimeAndPrice{8, 1}, TimeAndPrice{4, 2}, TimeAndPrice{2, 4}};
  EXPECT_EQ(KneeOf(std::vector<int64_t>{0, 1, 2}, points), std::nullopt);
}

}  // namespace
}  // namespace tangram
