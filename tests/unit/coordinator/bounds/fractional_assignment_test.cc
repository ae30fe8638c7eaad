#include "coordinator/bounds/fractional_assignment.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(FractionalAssignmentTest, OneKindSharesAllJobs) {
  const std::vector<std::vector<double>> job_s = {{6}, {10}};
  EXPECT_DOUBLE_EQ(LeastDividedSeconds(job_s, {{4.0}}), 4);
  EXPECT_EQ(LeastDividedSeconds({}, {{4.0}}), 0);
}

TEST(FractionalAssignmentTest, EachJobGoesWhereItIsCheapest) {
  // Each machine does its own job in 4 s.
  const std::vector<std::vector<double>> job_s = {{4, 20}, {20, 4}};
  EXPECT_DOUBLE_EQ(LeastDividedSeconds(job_s, {{1.0, 1.0}}), 4);
}

TEST(FractionalAssignmentTest, OneJobIsDividedBetweenTheKinds) {
  // Kind 0 does the first job in 2 s. With both at work for T s, it does
  // (T − 2) / 6 of the second job, and kind 1 T / 3 of it: T = 8 / 3.
  const std::vector<std::vector<double>> job_s = {{2, 8}, {6, 3}};
  EXPECT_DOUBLE_EQ(LeastDividedSeconds(job_s, {{1.0, 1.0}}), 8.0 / 3);
}

// Returns the time in which two machines do the jobs: kind 0 takes those with
// the least job_0 / job_1 first, and one is divided.
double LeastOfTwo(std::vector<std::vector<double>> job_s,
                  const std::vector<double>& machines) {
  std::sort(job_s.begin(), job_s.end(), [](const auto& a, const auto& b) {
    return a[0] * b[1] < b[0] * a[1];
  });
  double least_s = 1e300;
  for (size_t divided = 0; divided < job_s.size(); ++divided) {
    double first_s = 0;
    double second_s = 0;
    for (size_t j = 0; j < job_s.size(); ++j) {
      if (j < divided) first_s += job_s[j][0] / machines[0];
      if (j > divided) second_s += job_s[j][1] / machines[1];
    }
    const double a = job_s[divided][0] / machines[0];
    const double b = job_s[divided][1] / machines[1];
    // first + x a = second + (1 − x) b.
    const double x = std::clamp((second_s + b - first_s) / (a + b), 0.0, 1.0);
    least_s =
        std::min(least_s, std::max(first_s + x * a, second_s + (1 - x) * b));
  }
  return least_s;
}

TEST(FractionalAssignmentTest, IsExactForTwoKinds) {
  std::mt19937 rng(7);
  const auto draw = [&rng] { return 1 + static_cast<double>(rng() % 1000); };
  for (int i = 0; i < 300; ++i) {
    std::vector<std::vector<double>> job_s(1 + rng() % 12);
    for (std::vector<double>& job : job_s) job = {draw(), draw()};
    const std::vector<double> machines = {draw(), draw()};
    const double least_s = LeastOfTwo(job_s, machines);
    EXPECT_NEAR(LeastDividedSeconds(job_s, machines), least_s, 1e-9 * least_s);
  }
}

TEST(FractionalAssignmentTest, BoundsThreeKindsFromBelow) {
  std::mt19937 rng(3);
  const auto draw = [&rng] { return 1 + static_cast<double>(rng() % 1000); };
  for (int i = 0; i < 300; ++i) {
    std::vector<std::vector<double>> job_s(1 + rng() % 12);
    std::vector<double> busy_s(3);
    const std::vector<double> machines = {draw(), draw(), draw()};
    for (std::vector<double>& job : job_s) {
      job = {draw(), draw(), draw()};
      const size_t on = rng() % 3;
      busy_s[on] += job[on] / machines[on];
    }
    EXPECT_LE(LeastDividedSeconds(job_s, machines),
              *std::max_element(busy_s.begin(), busy_s.end()) * (1 + 1e-12));
  }
}

}  // namespace
}  // namespace tangram
