#include "coordinator/planners/anneal/anneal.h"

#include <map>
#include <string>
#include <vector>

#include "coordinator/planners/anneal/moves.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram::anneal {
namespace {

using testing::StatusIs;

constexpr int kLayers = 14;

// Three islands of a node of four GPUs each, the second half as fast.
AnnealProblem ThreeIslands() {
  AnnealProblem problem;
  std::vector<testing::TestGroup> groups;
  for (int g = 0; g < 3; ++g) {
    DeviceSpec device = testing::TestDevice("GPU");
    device.host = {.bandwidth_bytes_per_s = 10e9, .memory_bytes = 1e12};
    device.memory_bytes = 1e12;
    device.supports_flash_attention = true;
    if (g == 1) device.peak_flops.fp16 /= 2;
    groups.push_back(
        {.name = std::string(1, static_cast<char>('a' + g)), .device = device});
    problem.islands.push_back({.id = g, .nodes = {g}});
  }
  problem.request = {.cluster = testing::TestCluster(groups, 100e9),
                     .model = testing::TestMoeModel(kLayers - 2),
                     .training = testing::TestTraining(32)};
  problem.changes_schedule = true;
  return problem;
}

// A stage of one GPU and one of two on the first island, two of two GPUs on the
// second, cut before these layers. The last is tensor-parallel.
PipelinePlan PlanOf(const std::vector<int>& cuts) {
  const std::vector<std::vector<GpuId>> gpus = {
      {{0, 0}}, {{0, 1}, {0, 2}}, {{1, 0}, {1, 1}}, {{1, 2}, {1, 3}}};
  PipelinePlan plan{.pipeline_microbatch_size = 4};
  for (int s = 0; s < 4; ++s) {
    const int begin = s == 0 ? 0 : cuts[s - 1];
    const int end = s == 3 ? kLayers : cuts[s];
    const int num_gpus = static_cast<int>(gpus[s].size());
    plan.stages.push_back({.plan = {.begin = {begin, 0},
                                    .end = {end, 0},
                                    .parallelism = {.dp_degree = num_gpus},
                                    .recompute = {{end - begin, 0}}},
                           .gpus = gpus[s],
                           .island = gpus[s][0].node});
  }
  plan.stages[3].plan.parallelism = {.tp_degree = 2};
  return plan;
}

const std::vector<int> kBalanced = {3, 8, 11};
const std::vector<int> kShifted = {1, 3, 5};

double Seconds(const AnnealProblem& problem, const PipelinePlan& plan) {
  const PlanRequest& request = problem.request;
  return EvaluatePlan(request.model, request.cluster, request.training, plan)
      ->iteration_time_s;
}

TEST(AnnealTest, EveryMoveLeadsToPlansThatTheJudgeReads) {
  const AnnealProblem problem = ThreeIslands();
  const PlanRequest& request = problem.request;
  const PipelinePlan start = PlanOf(kBalanced);
  const Evaluation now =
      *EvaluatePlan(request.model, request.cluster, request.training, start);
  const CutLists cuts = CutListsOf(request.model);
  for (const auto moves :
       {SmallMoves(), StageMoves(), GpuMoves(), ScheduleMoves()}) {
    for (const Move& move : moves) {
      SCOPED_TRACE(move.name);
      Draw draw(7);
      int num_legal = 0;
      for (int i = 0; i < 200; ++i) {
        PipelinePlan plan = start;
        if (!move.change({problem, now, draw, cuts}, plan)) continue;
        const auto judged = EvaluatePlan(request.model, request.cluster,
                                         request.training, plan);
        EXPECT_TRUE(judged.ok() || absl::IsInvalidArgument(judged.status()));
        num_legal += judged.ok() && plan != start;
      }
      EXPECT_GT(num_legal, 0);
    }
  }
}

TEST(AnnealTest, AShiftedPlanBecomesAtLeastAsFastAsItWas) {
  const AnnealProblem problem = ThreeIslands();
  const double balanced_s = Seconds(problem, PlanOf(kBalanced));
  ASSERT_GT(Seconds(problem, PlanOf(kShifted)), 1.2 * balanced_s);
  const auto found = Anneal(problem, PlanOf(kShifted), {.num_steps = 3000});
  ASSERT_TRUE(found.ok());
  EXPECT_LE(found->best.evaluation.iteration_time_s, balanced_s);
  EXPECT_EQ(Seconds(problem, found->best.plan),
            found->best.evaluation.iteration_time_s);
}

TEST(AnnealTest, OneSeedLeadsToOnePlan) {
  const AnnealProblem problem = ThreeIslands();
  const AnnealOptions options{.num_steps = 500, .seed = 3};
  const auto once = Anneal(problem, PlanOf(kShifted), options);
  const auto again = Anneal(problem, PlanOf(kShifted), options);
  ASSERT_TRUE(once.ok() && again.ok());
  EXPECT_EQ(once->num_steps, 500);
  EXPECT_EQ(once->best.plan, again->best.plan);
  EXPECT_EQ(once->num_played, again->num_played);
}

TEST(AnnealTest, PlansAreThoseThatTheRuntimeRuns) {
  constexpr Runtime kPlain = {.name = "plain"};
  AnnealProblem problem = ThreeIslands();
  problem.rules.runtime = &kPlain;
  problem.rules.accepts_gpus = [](int num_gpus) { return num_gpus == 7; };
  const auto found = Anneal(problem, PlanOf(kShifted), {.num_steps = 1000});
  ASSERT_TRUE(found.ok());
  int num_gpus = 0;
  for (const PlacedStage& stage : found->best.plan.stages) {
    EXPECT_EQ(stage.plan.begin.op, 0);
    EXPECT_TRUE(stage.plan.offload.none());
    num_gpus += static_cast<int>(stage.gpus.size());
  }
  EXPECT_EQ(num_gpus / found->best.plan.virtual_stages, 7);
}

TEST(AnnealTest, IslandsInUseStaySoIfAsked) {
  AnnealProblem problem = ThreeIslands();
  problem.keeps_islands = true;
  const auto found = Anneal(problem, PlanOf(kShifted), {.num_steps = 1000});
  ASSERT_TRUE(found.ok());
  for (const PlacedStage& stage : found->best.plan.stages) {
    EXPECT_LT(stage.island, 2);
  }
}

TEST(AnnealTest, APlanThatTheJudgeRefusesIsAnError) {
  PipelinePlan plan = PlanOf(kBalanced);
  plan.stages[0].gpus.pop_back();
  EXPECT_THAT(Anneal(ThreeIslands(), plan, {}).status(),
              StatusIs(testing::kBadInput, ::testing::HasSubstr("refuses")));
}

}  // namespace
}  // namespace tangram::anneal
