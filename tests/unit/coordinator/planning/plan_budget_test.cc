#include "coordinator/planning/plan_budget.h"

#include <time.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/dispatch/local_slice_plan_source.h"
#include "coordinator/planners/builtin/builtin_planners.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"
#include "frameworks/framework_catalogue.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

PlanRequest TwoKinds() {
  DeviceSpec slow = testing::TestDevice("SLOW");
  slow.peak_flops.fp16 /= 2;
  return {.cluster = testing::TestCluster(
              {{.name = "a", .num_nodes = 2, .device = testing::TestDevice()},
               {.name = "b", .num_nodes = 2, .device = slow}}),
          .model = testing::TestModel(8),
          .training = testing::TestTraining(16)};
}

absl::StatusOr<PlanResult> PlanWithin(PlanBudget& budget) {
  const std::unique_ptr<Parallelizer> adapter =
      *CreateBuiltinParallelizer("uniform");
  const auto source = CreateLocalSlicePlanSource(*adapter, 1);
  const auto charged = budget.Charge(*source);
  testing::SilentObserver observer;
  return budget.Run(observer, [&](PlanObserver& limiting) {
    return CreatePortfolioPlanner(
               {{.parallelizer = "uniform", .source = charged.get()}},
               *BuiltinPlanners().Choose("", {}, {}), FrameworkCatalogue())
        ->Plan(TwoKinds(), limiting);
  });
}

TEST(PlanBudgetTest, APlanWithinItsBudgetIsThePlan) {
  PlanBudget none({.max_bytes = 0, .max_cpu_s = 0});
  ASSERT_OK_AND_ASSIGN(const PlanResult free, PlanWithin(none));
  ASSERT_TRUE(free.plan.has_value());
  EXPECT_GT(none.peak_bytes(), 10'000);
  PlanBudget enough({.max_bytes = none.peak_bytes(), .max_cpu_s = 1000});
  ASSERT_OK_AND_ASSIGN(const PlanResult same, PlanWithin(enough));
  EXPECT_EQ(*same.plan, *free.plan);
}

// Wherever the memory ends, the plan ends with an error, and nothing that it
// took remains.
TEST(PlanBudgetTest, APlanEndsWhereverItsMemoryEnds) {
  PlanBudget none({.max_bytes = 0, .max_cpu_s = 0});
  ASSERT_OK_AND_ASSIGN(const PlanResult free, PlanWithin(none));
  const double peak = static_cast<double>(none.peak_bytes());
  constexpr int kLimits = 16;
  constexpr double kStepBytes = 600'000;
  int num_ended = 0;
  for (int i = 0; i < kLimits; ++i) {
    const double share = std::pow(0.66, i);
    PlanBudget budget(
        {.max_bytes = static_cast<int64_t>(peak * share) - 1, .max_cpu_s = 0});
    const absl::StatusOr<PlanResult> result = PlanWithin(budget);
    if (result.ok()) {
      // The peak was after the last poll.
      EXPECT_GT(share, 0.75);
      EXPECT_EQ(*result->plan, *free.plan);
      continue;
    }
    ++num_ended;
    EXPECT_THAT(result, StatusIs(absl::StatusCode::kResourceExhausted,
                                 HasSubstr("--plan_memory_mb")));
    // A step between two polls takes little, but a table that grows doubles.
    EXPECT_LE(static_cast<double>(budget.peak_bytes()),
              2 * peak * share + kStepBytes)
        << share;
  }
  EXPECT_GE(num_ended, kLimits - 3);
  EXPECT_GT(peak, 2 * kStepBytes);
  PlanBudget again({.max_bytes = 0, .max_cpu_s = 0});
  ASSERT_OK_AND_ASSIGN(const PlanResult same, PlanWithin(again));
  EXPECT_EQ(*same.plan, *free.plan);
}

// Computes until it is told to stop.
absl::StatusOr<PlanResult> ComputeOn(PlanObserver& observer) {
  while (!observer.ShouldStop()) {
  }
  return absl::CancelledError("stopped");
}

TEST(PlanBudgetTest, APlanEndsWhenItsTimeEnds) {
  PlanBudget budget({.max_bytes = 0, .max_cpu_s = 0.01});
  testing::SilentObserver observer;
  EXPECT_THAT(budget.Run(observer, ComputeOn),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("--plan_cpu_s allows: 0.01 s")));
}

TEST(PlanBudgetTest, TimeWithoutComputingDoesNotCount) {
  PlanBudget budget({.max_bytes = 0, .max_cpu_s = 0.01});
  testing::SilentObserver observer;
  const auto sleep = [](PlanObserver& limiting) -> absl::StatusOr<PlanResult> {
    const timespec pause = {.tv_nsec = 50'000'000};
    nanosleep(&pause, nullptr);
    EXPECT_FALSE(limiting.ShouldStop());
    return PlanResult();
  };
  EXPECT_THAT(budget.Run(observer, sleep), testing::IsOk());
}

TEST(PlanBudgetTest, ACallerThatStopsIsNoFaultOfThePlan) {
  PlanBudget budget({.max_bytes = 1'000'000'000, .max_cpu_s = 1000});
  testing::SilentObserver observer;
  observer.stop = true;
  EXPECT_THAT(budget.Run(observer, ComputeOn),
              StatusIs(absl::StatusCode::kCancelled, "stopped"));
}

// Grows a cache that others share, from inside the planner's thread.
TEST(PlanBudgetTest, MemoryOfOthersIsNotThePlans) {
  class Growing : public testing::SilentObserver {
   public:
    std::vector<std::string> shared;
    void OnBest(double) override { shared.emplace_back(1'000'000, 'x'); }
  };
  PlanBudget budget({.max_bytes = 1'000'000, .max_cpu_s = 0});
  Growing observer;
  const auto plan = [](PlanObserver& limiting) -> absl::StatusOr<PlanResult> {
    for (int i = 0; i < 10; ++i) limiting.OnBest(1);
    return PlanResult();
  };
  EXPECT_THAT(budget.Run(observer, plan), testing::IsOk());
  EXPECT_LT(budget.peak_bytes(), 100'000);
}

}  // namespace
}  // namespace tangram
