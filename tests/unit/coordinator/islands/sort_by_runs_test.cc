#include "coordinator/islands/sort_by_runs.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(SortByRunsTest, SortsAnyNumberOfRuns) {
  std::mt19937 random(1);
  for (int size = 0; size < 40; ++size) {
    std::vector<int> sorted(size);
    std::iota(sorted.begin(), sorted.end(), 0);
    std::vector<int> values = sorted;
    SortByRuns(values);
    EXPECT_EQ(values, sorted);
    std::shuffle(values.begin(), values.end(), random);
    SortByRuns(values);
    EXPECT_EQ(values, sorted);
    std::reverse(values.begin(), values.end());
    SortByRuns(values);
    EXPECT_EQ(values, sorted);
  }
}

TEST(SortByRunsTest, TakesAnOrder) {
  std::vector<int> values = {3, 1, 2, 5, 4};
  SortByRuns(values, std::greater<>());
  EXPECT_EQ(values, (std::vector<int>{5, 4, 3, 2, 1}));
}

}  // namespace
}  // namespace tangram
