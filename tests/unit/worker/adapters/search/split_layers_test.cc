#include "worker/adapters/search/split_layers.h"

#include <algorithm>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

TEST(SplitLayersTest, EqualLayersThatDivideEvenlyAreDividedEvenly) {
  EXPECT_THAT(SplitLayers(std::vector<double>(12, 0.1), 4),
              ElementsAre(3, 6, 9, 12));
}

TEST(SplitLayersTest, RemainderGoesToTheLastStages) {
  EXPECT_THAT(SplitLayers(std::vector<double>(11, 1), 4),
              ElementsAre(2, 5, 8, 11));  // 2, 3, 3, 3
  EXPECT_THAT(SplitLayers(std::vector<double>(9, 1), 4),
              ElementsAre(2, 4, 6, 9));  // 2, 2, 2, 3
  EXPECT_THAT(SplitLayers(std::vector<double>(5, 1), 4),
              ElementsAre(1, 2, 3, 5));
}

TEST(SplitLayersTest, HeavyHeadLeavesItsStageFewerLayers) {
  // Embedding 0.1, eight layers of 1, head 3: 11.1 over 3 stages. The last
  // holds 3 + 1, the others 4 and 3.1.
  std::vector<double> seconds(10, 1);
  seconds.front() = 0.1;
  seconds.back() = 3;

  EXPECT_THAT(SplitLayers(seconds, 3), ElementsAre(4, 8, 10));
}

TEST(SplitLayersTest, StageTakesMoreWhereThoseBeforeItCannotTakeTheRest) {
  // 6 | 8 3 | 1 9 | 8: the slowest is 11. A share is 8.75. With only the 9 on
  // the third stage, 6 8 3 1 would take 12 on two stages.
  EXPECT_THAT(SplitLayers({6, 8, 3, 1, 9, 8}, 4), ElementsAre(1, 3, 5, 6));
}

TEST(SplitLayersTest, OneLayerAStage) {
  EXPECT_THAT(SplitLayers({5, 1, 1}, 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(SplitLayers({5}, 1), ElementsAre(1));
}

double Slowest(const std::vector<double>& seconds,
               const std::vector<int>& ends) {
  double slowest = 0;
  int begin = 0;
  for (const int end : ends) {
    double sum = 0;
    for (int i = begin; i < end; ++i) sum += seconds[i];
    slowest = std::max(slowest, sum);
    begin = end;
  }
  return slowest;
}

// Returns the least slowest stage over all divisions of layers from `begin` on.
double BestSlowest(const std::vector<double>& seconds, int begin, int stages) {
  const int num_layers = static_cast<int>(seconds.size());
  double best = std::numeric_limits<double>::infinity();
  double sum = 0;
  for (int end = begin + 1; end <= num_layers; ++end) {
    sum += seconds[end - 1];
    if (stages == 1) {
      if (end == num_layers) best = sum;
    } else if (num_layers - end >= stages - 1) {
      best =
          std::min(best, std::max(sum, BestSlowest(seconds, end, stages - 1)));
    }
  }
  return best;
}

TEST(SplitLayersPropertyTest, NoDivisionHasAFasterSlowestStage) {
  for (int seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const int num_layers = 1 + static_cast<int>(random() % 10);
    const int num_stages = 1 + static_cast<int>(random() % num_layers);
    std::vector<double> seconds;
    for (int i = 0; i < num_layers; ++i) {
      seconds.push_back(0.1 * (1 + static_cast<int>(random() % 5)));
    }

    const std::vector<int> ends = SplitLayers(seconds, num_stages);

    ASSERT_EQ(ends.size(), num_stages);
    EXPECT_EQ(ends.back(), num_layers);
    EXPECT_TRUE(std::is_sorted(ends.begin(), ends.end(), std::less_equal<>()));
    EXPECT_NEAR(Slowest(seconds, ends), BestSlowest(seconds, 0, num_stages),
                1e-8);
  }
}

}  // namespace
}  // namespace tangram
