#include "common/base/insert_non_dominated.h"

#include <algorithm>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

struct Point {
  int x = 0;
  int y = 0;
  int id = 0;
};

bool AtLeastAsGood(const Point& a, const Point& b) {
  return a.x <= b.x && a.y <= b.y;
}

TEST(InsertNonDominatedTest, KeepsExactlyWhatNothingDominatesFirstOfEquals) {
  std::mt19937 rng(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Point> all;
    std::vector<Point> set;
    for (int i = 0; i < 20; ++i) {
      const Point point{static_cast<int>(rng() % 8),
                        static_cast<int>(rng() % 8), i};
      all.push_back(point);
      const bool is_new = std::none_of(
          set.begin(), set.end(),
          [&](const Point& kept) { return AtLeastAsGood(kept, point); });
      EXPECT_EQ(InsertNonDominated(point, AtLeastAsGood, set), is_new);
    }
    for (const Point& point : all) {
      const bool dominated =
          std::any_of(all.begin(), all.end(), [&](const Point& other) {
            return other.id != point.id && AtLeastAsGood(other, point) &&
                   (!AtLeastAsGood(point, other) || other.id < point.id);
          });
      const bool kept = std::any_of(
          set.begin(), set.end(),
          [&](const Point& member) { return member.id == point.id; });
      EXPECT_EQ(kept, !dominated);
    }
  }
}

}  // namespace
}  // namespace tangram
