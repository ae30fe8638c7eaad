#include "worker/adapters/search/stage_cuts.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr double kNever = std::numeric_limits<double>::infinity();

// Layers of given lengths, slower in some places.
class StageCutsTest : public ::testing::Test {
 protected:
  std::vector<double> layers_ = {1, 1, 1, 1, 2, 2};
  std::vector<double> factors_ = {1, 1};  // By stage; kNever: fits nothing.

  double Sum(int begin, int end) const {
    double sum = 0;
    for (int i = begin; i < end; ++i) sum += layers_[i];
    return sum;
  }
  const std::function<double(int, int, int)> seconds_ =
      [this](int stage, int begin, int end) {
        return factors_[stage] * Sum(begin, end);
      };
  const std::function<double(int, int)> least_seconds_ =
      [this](int begin, int end) { return Sum(begin, end); };

  StageCutProblem problem() const {
    return {.num_layers = static_cast<int>(layers_.size()),
            .num_stages = static_cast<int>(factors_.size()),
            .seconds = seconds_,
            .least_seconds = least_seconds_};
  }
  std::vector<int> LeastSum(double bound_s) const {
    const std::function<double(int, int, int)> within =
        [&](int stage, int begin, int end) {
          const double seconds = seconds_(stage, begin, end);
          return seconds <= bound_s ? seconds : kNever;
        };
    return CutsOfLeastSum(problem(), bound_s, within);
  }
};

TEST_F(StageCutsTest, BalancesEqualPlaces) {
  EXPECT_THAT(LeastSlowestStage(problem(), 100), Optional(4));
  EXPECT_THAT(LeastSum(4), ElementsAre(4, 6));
}

TEST_F(StageCutsTest, GivesSlowPlacesLess) {
  factors_ = {1.5, 1};
  // 1.5 · 3 = 4.5 and 5; 1.5 · 4 = 6 and 4.
  EXPECT_THAT(LeastSlowestStage(problem(), 100), Optional(5));
  // Least sum: one layer in the slow place, 1.5 + 7.
  EXPECT_THAT(LeastSum(5), ElementsAre(3, 6));
  EXPECT_THAT(LeastSum(6), ElementsAre(2, 6));
  EXPECT_THAT(LeastSum(7), ElementsAre(1, 6));
}

TEST_F(StageCutsTest, SaysWhereThereAreNoCuts) {
  EXPECT_EQ(LeastSlowestStage(problem(), 3.9), std::nullopt);
  EXPECT_THAT(LeastSum(3.9), IsEmpty());
  factors_ = {1, kNever};
  EXPECT_EQ(LeastSlowestStage(problem(), 100), std::nullopt);
}

TEST_F(StageCutsTest, AgreesWithEnumeration) {
  int feasible = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    std::uniform_int_distribution<int> tenths(1, 30);
    layers_.assign(std::uniform_int_distribution<int>(1, 9)(rng), 0);
    for (double& layer : layers_) layer = tenths(rng) * 0.1;
    const int max_stages = std::min(4, static_cast<int>(layers_.size()));
    factors_.assign(std::uniform_int_distribution<int>(1, max_stages)(rng), 0);
    for (double& factor : factors_) factor = 1 + tenths(rng) * 0.05;
    const double bound_s = tenths(rng) * 0.5;
    double least_slowest = kNever;
    double least_sum = kNever;
    const std::function<void(int, int, double, double)> enumerate =
        [&](int stage, int begin, double slowest, double sum) {
          if (stage == static_cast<int>(factors_.size())) {
            if (begin != static_cast<int>(layers_.size())) return;
            least_slowest = std::min(least_slowest, slowest);
            if (slowest <= bound_s) least_sum = std::min(least_sum, sum);
            return;
          }
          for (int end = begin + 1; end <= static_cast<int>(layers_.size());
               ++end) {
            const double seconds = seconds_(stage, begin, end);
            enumerate(stage + 1, end, std::max(slowest, seconds),
                      sum + seconds);
          }
        };
    enumerate(0, 0, 0, 0);

    ASSERT_THAT(LeastSlowestStage(problem(), 1e9), Optional(least_slowest));
    const std::vector<int> ends = LeastSum(bound_s);
    ASSERT_EQ(ends.empty(), least_sum == kNever);
    if (ends.empty()) continue;
    ++feasible;
    double sum = 0;
    for (size_t i = 0; i < ends.size(); ++i) {
      sum += seconds_(static_cast<int>(i), i == 0 ? 0 : ends[i - 1], ends[i]);
    }
    EXPECT_NEAR(sum, least_sum, 1e-9);
  }
  EXPECT_GT(feasible, 40);
  EXPECT_LT(feasible, 160);
}

TEST_F(StageCutsTest, StopsWhenPolled) {
  const auto seconds = [](int, int begin, int end) {
    return 1.0 * (end - begin);
  };
  const auto least_seconds = [](int begin, int end) {
    return 1.0 * (end - begin);
  };
  int polls = 0;
  StopPoll poll([&] { return ++polls == 2; });
  const StageCutProblem problem = {.num_layers = 2000,
                                   .num_stages = 8,
                                   .seconds = seconds,
                                   .least_seconds = least_seconds,
                                   .poll = &poll};
  EXPECT_EQ(LeastSlowestStage(problem, 1e9), std::nullopt);
  EXPECT_EQ(polls, 2);
  EXPECT_THAT(CutsOfLeastSum(problem, 1e9, seconds), ::testing::IsEmpty());
}

}  // namespace
}  // namespace tangram
