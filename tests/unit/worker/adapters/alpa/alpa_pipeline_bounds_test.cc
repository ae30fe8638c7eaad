#include "worker/adapters/alpa/alpa_pipeline_bounds.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram::alpa {
namespace {

// Two layers on devices of size 1 and 2. One layer alone takes 4 s and 3 s,
// both together 10 s and 5 s. The last option needs memory that two stages
// leave.
InterOperatorProblem TwoLayers() {
  InterOperatorProblem problem(2, 4, {1, 2});
  const int one = problem.AddRow();
  const int both = problem.AddRow();
  problem.SetRow(0, 1, one);
  problem.SetRow(1, 2, one);
  problem.SetRow(0, 2, both);
  problem.SetOptions(one, 0, {{.seconds = 4, .max_trailing_stages = 9}});
  problem.SetOptions(one, 1, {{.seconds = 3, .max_trailing_stages = 9}});
  problem.SetOptions(both, 0, {{.seconds = 10, .max_trailing_stages = 9}});
  problem.SetOptions(both, 1, {{.seconds = 5, .max_trailing_stages = 2}});
  return problem;
}

TEST(PipelineBoundsTest, TakesTheLeastOverAllCutsAndSubmeshes) {
  const PipelineBounds bounds(TwoLayers(), 0);

  // Latency: both at once, 5 s. Device-seconds: one layer each, 4 + 4 on 1
  // device, less than 2 · 5 and 10.
  EXPECT_NEAR(bounds.Before(2, 4).latency_s, 5, 1e-6);
  EXPECT_NEAR(bounds.Before(2, 4).slowest_s, 8.0 / 4, 1e-6);
  EXPECT_NEAR(bounds.From(1, 2).latency_s, 3, 1e-6);
  EXPECT_NEAR(bounds.From(1, 2).slowest_s, 4.0 / 2, 1e-6);
}

TEST(PipelineBoundsTest, CountsOnlyWhatBearsTheTrailingStages) {
  const PipelineBounds bounds(TwoLayers(), 3);

  // Without 5 s for both: 3 + 3.
  EXPECT_NEAR(bounds.Before(2, 4).latency_s, 6, 1e-6);
}

TEST(PipelineBoundsTest, NoLayersTakeNothing) {
  const PipelineBounds bounds(TwoLayers(), 0);

  EXPECT_EQ(bounds.Before(0, 0).slowest_s, 0);
  EXPECT_EQ(bounds.Before(0, 0).latency_s, 0);
  EXPECT_EQ(bounds.From(2, 1).latency_s, 0);
}

}  // namespace
}  // namespace tangram::alpa
