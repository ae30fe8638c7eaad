#include "coordinator/planners/anneal/anneal_among.h"

#include <vector>

#include "common/sim/evaluate_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"

namespace tangram::anneal {
namespace {

using testing::StatusIs;

// Two islands of a GPU each, the second a quarter as fast.
AnnealProblem FastAndSlow() {
  AnnealProblem problem;
  std::vector<testing::TestGroup> groups(2);
  for (int g = 0; g < 2; ++g) {
    groups[g] = {.name = g == 0 ? "fast" : "slow",
                 .gpus_per_node = 1,
                 .device = testing::TestDevice("GPU")};
    problem.islands.push_back({.id = g, .nodes = {g}});
  }
  groups[1].device.peak_flops.fp16 /= 4;
  problem.request = {.cluster = testing::TestCluster(groups, 100e9),
                     .model = testing::TestModel(10),
                     .training = testing::TestTraining(8)};
  return problem;
}

// The first layers on one GPU, and the others on the other.
JudgedPlan PlanOf(const AnnealProblem& problem, int first_island, int cut) {
  PipelinePlan plan{.pipeline_microbatch_size = 1};
  for (int s = 0; s < 2; ++s) {
    const int begin = s == 0 ? 0 : cut;
    const int end = s == 0 ? cut : 12;
    const int island = s == 0 ? first_island : 1 - first_island;
    plan.stages.push_back({.plan = {.begin = {begin, 0},
                                    .end = {end, 0},
                                    .recompute = {{end - begin, 0}}},
                           .gpus = {{island, 0}},
                           .island = island});
  }
  const PlanRequest& request = problem.request;
  return {plan, *EvaluatePlan(request.model, request.cluster, request.training,
                              plan)};
}

class Stopped : public testing::SilentObserver {
 public:
  bool ShouldStop() override { return true; }
};

TEST(AnnealAmongTest, TheResultIsNoSlowerThanAnyStart) {
  const AnnealProblem problem = FastAndSlow();
  const std::vector<JudgedPlan> starts = {
      PlanOf(problem, 0, 6), PlanOf(problem, 1, 6), PlanOf(problem, 0, 9)};
  testing::SilentObserver observer;
  ASSERT_OK_AND_ASSIGN(const JudgedPlan found,
                       AnnealAmong(problem, starts, observer));
  for (const JudgedPlan& start : starts) {
    EXPECT_LE(found.evaluation.iteration_time_s,
              start.evaluation.iteration_time_s);
  }
}

// A start far from the best leads to about the same plan.
TEST(AnnealAmongTest, TheResultHardlyDependsOnTheStart) {
  const AnnealProblem problem = FastAndSlow();
  testing::SilentObserver observer;
  ASSERT_OK_AND_ASSIGN(const JudgedPlan near,
                       AnnealAmong(problem, {PlanOf(problem, 0, 9)}, observer));
  ASSERT_OK_AND_ASSIGN(
      const JudgedPlan far,
      AnnealAmong(problem, {PlanOf(problem, 1, 11)}, observer));
  EXPECT_NEAR(far.evaluation.iteration_time_s, near.evaluation.iteration_time_s,
              0.005 * near.evaluation.iteration_time_s);
}

TEST(AnnealAmongTest, OneProblemHasOneResult) {
  const AnnealProblem problem = FastAndSlow();
  testing::SilentObserver observer;
  ASSERT_OK_AND_ASSIGN(const JudgedPlan once,
                       AnnealAmong(problem, {PlanOf(problem, 1, 6)}, observer));
  ASSERT_OK_AND_ASSIGN(const JudgedPlan again,
                       AnnealAmong(problem, {PlanOf(problem, 1, 6)}, observer));
  EXPECT_EQ(once.plan, again.plan);
}

TEST(AnnealAmongTest, ConstraintsHold) {
  AnnealProblem problem = FastAndSlow();
  problem.request.pipeline_microbatch_size = 1;
  problem.request.constraints.recompute = LayerRecompute::kNone;
  problem.request.constraints.pins = {{0, 3, "1"}};
  testing::SilentObserver observer;
  ASSERT_OK_AND_ASSIGN(const JudgedPlan found,
                       AnnealAmong(problem, {PlanOf(problem, 1, 6)}, observer));
  EXPECT_EQ(found.plan.pipeline_microbatch_size, 1);
  EXPECT_EQ(found.plan.stages.front().island, 1);
  EXPECT_GE(found.plan.stages.front().plan.end.layer, 4);
  for (const PlacedStage& stage : found.plan.stages) {
    for (const RecomputeRun& run : stage.plan.recompute) {
      EXPECT_EQ(run.mask, kRecomputeNone);
    }
  }
}

TEST(AnnealAmongTest, EndsOnceItIsStopped) {
  const AnnealProblem problem = FastAndSlow();
  Stopped observer;
  EXPECT_THAT(AnnealAmong(problem, {PlanOf(problem, 0, 6)}, observer).status(),
              StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

}  // namespace
}  // namespace tangram::anneal
