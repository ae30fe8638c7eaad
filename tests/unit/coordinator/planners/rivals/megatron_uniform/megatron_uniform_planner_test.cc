#include "coordinator/planners/rivals/megatron_uniform/megatron_uniform_planner.h"

#include <memory>
#include <vector>

#include "common/sim/evaluate_plan.h"
#include "coordinator/planners/judge/judged_planner.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::SilentObserver;
using testing::TestDevice;
using testing::TestGroup;

PlanRequest RequestOf(const std::vector<TestGroup>& groups) {
  return {.cluster = testing::TestCluster(groups),
          .model = testing::TestModel(6),
          .training = testing::TestTraining(16)};
}

TEST(MegatronUniformPlannerTest, AnswersTheFastestOfAllThatFit) {
  const PlanRequest request = RequestOf({{"a", 2, 2, TestDevice()}});
  SilentObserver observer;
  const std::unique_ptr<Planner> planner = CreateMegatronUniformPlanner();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<PlanSearch> search,
                       planner->Start(request, observer));
  ASSERT_OK_AND_ASSIGN(const std::vector<Proposal> proposals,
                       search->Propose({}));
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       CreateJudgedPlanner(CreateMegatronUniformPlanner(),
                                           {.min_island_gain = 0.5})
                           ->Plan(request, observer));
  ASSERT_TRUE(result.plan.has_value());
  for (const Proposal& proposal : proposals) {
    const PipelinePlan plan = proposal.make_plan();
    ASSERT_OK_AND_ASSIGN(
        const Evaluation evaluation,
        EvaluatePlan(request.model, request.cluster, request.training, plan));
    if (!evaluation.violations.empty()) continue;
    EXPECT_GE(evaluation.iteration_time_s, result.iteration_time_s());
  }
  EXPECT_THAT(search->Propose({}), testing::IsOkAndHolds(::testing::IsEmpty()));
}

TEST(MegatronUniformPlannerTest, RunsAsAnExpertWould) {
  const PlanRequest request = RequestOf({{"a", 2, 2, TestDevice()}});
  SilentObserver observer;
  const std::unique_ptr<Planner> planner = CreateMegatronUniformPlanner();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<PlanSearch> search,
                       planner->Start(request, observer));
  ASSERT_OK_AND_ASSIGN(const std::vector<Proposal> proposals,
                       search->Propose({}));
  for (const Proposal& proposal : proposals) {
    for (const PlacedStage& stage : proposal.make_plan().stages) {
      const StageParallelism& p = stage.plan.parallelism;
      EXPECT_EQ(p.sequence_parallel, p.tp_degree > 1);
      EXPECT_EQ(p.zero_stage, p.dp_degree > 1 ? 1 : 0);
    }
  }
}

TEST(MegatronUniformPlannerTest, SaysWhyNoDegreesExist) {
  SilentObserver observer;
  const PlanRequest request = RequestOf({{"a", 9, 1, TestDevice()}});
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       CreateJudgedPlanner(CreateMegatronUniformPlanner(), {})
                           ->Plan(request, observer));
  ASSERT_TRUE(result.infeasible.has_value());
  EXPECT_THAT(result.infeasible->reason,
              HasSubstr("no tp x pp x dp uses all 9 GPUs"));
}

}  // namespace
}  // namespace tangram
