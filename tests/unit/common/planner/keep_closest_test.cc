#include "common/planner/keep_closest.h"

#include <optional>

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(KeepClosestTest, FewestBytesShortWin) {
  std::optional<Infeasible> closest;
  KeepClosest(std::nullopt, closest);
  EXPECT_FALSE(closest.has_value());
  KeepClosest(Infeasible{.reason = "a", .bytes_short = 2}, closest);
  KeepClosest(Infeasible{.reason = "b", .bytes_short = 1}, closest);
  KeepClosest(std::nullopt, closest);
  EXPECT_EQ(closest->reason, "b");
}

TEST(KeepClosestTest, ReasonsThatLackNoMemoryRankLast) {
  std::optional<Infeasible> closest = Infeasible{.reason = "a"};
  KeepClosest(Infeasible{.reason = "b", .bytes_short = 9}, closest);
  EXPECT_EQ(closest->reason, "b");
  KeepClosest(Infeasible{.reason = "c"}, closest);
  EXPECT_EQ(closest->reason, "b");
}

TEST(KeepClosestTest, TheFirstOfEqualOnesStays) {
  for (const double bytes_short : {0.0, 1.0}) {
    std::optional<Infeasible> closest =
        Infeasible{.reason = "a", .bytes_short = bytes_short};
    KeepClosest(Infeasible{.reason = "b", .bytes_short = bytes_short}, closest);
    EXPECT_EQ(closest->reason, "a");
  }
}

}  // namespace
}  // namespace tangram
