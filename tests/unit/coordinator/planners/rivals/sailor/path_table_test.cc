#include "coordinator/planners/rivals/sailor/path_table.h"

#include "gtest/gtest.h"
#include "tests/unit/coordinator/planners/rivals/sailor/test_input.h"

namespace tangram::sailor {
namespace {

TEST(SendTimeTest, FollowsTheCurve) {
  // 4 MB: l = 2, so 0.5 * 4 + 1 * 2 + 4 = 8 GB/s.
  const Path path{.a = 0.5, .b = 1, .c = 4, .most_bytes_per_s = 20e9};
  EXPECT_DOUBLE_EQ(SendTime(path, 4e6, false), 4e6 / 8e9);
  EXPECT_DOUBLE_EQ(SendTime(path, 4e6, true), 4e6 / 8e9);
}

TEST(SendTimeTest, AddsTheLatency) {
  const Path path{.c = 1, .most_bytes_per_s = 1e9, .latency_s = 0.5};
  EXPECT_DOUBLE_EQ(SendTime(path, 1e9, false), 1.5);
  EXPECT_EQ(SendTime(path, 0, false), 0);
}

TEST(SendTimeTest, BoundsTheRate) {
  // 1 GB/s at 1 MB, and 1 GB/s more for each factor of two.
  const Path path{.b = 1, .c = 1, .most_bytes_per_s = 3e9};
  EXPECT_DOUBLE_EQ(SendTime(path, 1024e6, false), 1024e6 / 3e9);
  EXPECT_NEAR(SendTime(path, 1024e6, true), 1024e6 / 11e9, 1e-12);
  // The curve is at -1 GB/s.
  EXPECT_NEAR(SendTime(path, 250e3, false), 250e3 / 0.03e9, 1e-12);
  EXPECT_LT(SendTime(path, 250e3, true), 0);
}

TEST(ReduceTimeTest, TakesBucketsInARing) {
  const Path path{.c = 10, .most_bytes_per_s = 10e9};
  EXPECT_EQ(ReduceTime(path, 1.2e9, 1, false), 0);
  // 2 (4 - 1) / 4 of 1.2 GB.
  EXPECT_DOUBLE_EQ(ReduceTime(path, 1.2e9, 4, false), 1.5 * 0.12);
  // Three buckets of 6 transfers each.
  const Path slow{.c = 10, .most_bytes_per_s = 10e9, .latency_s = 1};
  EXPECT_DOUBLE_EQ(ReduceTime(slow, 1.2e9, 4, false), 18 + 1.5 * 0.12);
}

TEST(PathTableTest, HasOneIndexForEqualPaths) {
  Input input = TestInput(1, {1, 1}, 1);
  input.paths[{{0, 0, 1}, {0, 1, 1}}].c = 3;
  const PathTable paths(input);
  EXPECT_EQ(paths.num_paths(), 2);
  const int a = paths.IndexOf(0, 0, 1);
  const int b = paths.IndexOf(0, 1, 1);
  EXPECT_EQ(paths.PathOf(a, a), paths.PathOf(b, a));
  EXPECT_NE(paths.PathOf(a, b), paths.PathOf(b, a));
  EXPECT_EQ(paths.path(paths.PathOf(a, b)).c, 3);
}

TEST(PathTableTest, KnowsTheDegreesWithAPathToThemselves) {
  Input input = TestInput(1, {4}, 1);
  AddConstantPaths(10, {1, 4}, input);
  input.paths.erase({{0, 0, 1}, {0, 0, 1}});
  EXPECT_EQ(PathTable(input).Degrees(0), std::vector<int>{4});
}

}  // namespace
}  // namespace tangram::sailor
