#include "common/wire/answered_request.h"

#include "common/sim/evaluate_plan.h"
#include "common/sim/explain_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

PlanRequest ARequest() {
  return {.cluster =
              testing::TestCluster({{"t4", 1, 4, testing::TestDevice("T4")}}),
          .model = testing::TestModel(4),
          .training = testing::TestTraining(),
          .constraints = {.exclude_nodes = {"t4-1"}}};
}

TEST(AnsweredRequestTest, APlanComesWithItsRequestAndItsExplanation) {
  const PlanRequest request = ARequest();
  PlanResult result;
  result.plan = {.pipeline_microbatch_size = 4};
  result.plan->stages = {
      testing::StageOn(0, 6, {.tp_degree = 4}, testing::NodeGpus(0, 4))};
  ASSERT_OK_AND_ASSIGN(result.evaluation,
                       EvaluatePlan(request.model, request.cluster,
                                    request.training, *result.plan));

  const PlanFile file = AnsweredRequest(request, result);

  EXPECT_EQ(file.cluster->name, request.cluster->name);
  EXPECT_EQ(file.model.layers, request.model.layers);
  EXPECT_EQ(file.training, request.training);
  EXPECT_EQ(file.constraints, request.constraints);
  EXPECT_EQ(file.explanation, ExplainPlan(request.model, request.cluster,
                                          *result.plan, result.evaluation));
  EXPECT_FALSE(file.explanation.empty());
  ASSERT_TRUE(file.result.band.has_value());
  EXPECT_LT(file.result.band->time.low, 1);
  EXPECT_GT(file.result.band->time.high, 1);
  EXPECT_GT(file.result.band->tie, 1);
}

TEST(AnsweredRequestTest, TheBandDependsOnTheFrameworkOfThePlan) {
  const PlanRequest request = ARequest();
  PlanResult result;
  result.plan = {.pipeline_microbatch_size = 4};
  result.plan->stages = {
      testing::StageOn(0, 6, {.tp_degree = 4}, testing::NodeGpus(0, 4))};
  ASSERT_OK_AND_ASSIGN(result.evaluation,
                       EvaluatePlan(request.model, request.cluster,
                                    request.training, *result.plan));
  const double time_s = result.evaluation.iteration_time_s;
  result.alternatives = {
      {.runtime = "megatron", .iteration_time_s = 2 * time_s},
      {.runtime = "torchtitan", .iteration_time_s = time_s}};
  PlanRequest automatic = request;
  automatic.constraints.runtime = "auto";
  PlanRequest torchtitan = request;
  torchtitan.constraints.runtime = "torchtitan";

  EXPECT_EQ(AnsweredRequest(automatic, result).result.band,
            AnsweredRequest(torchtitan, result).result.band);
  EXPECT_NE(AnsweredRequest(request, result).result.band,
            AnsweredRequest(torchtitan, result).result.band);
}

TEST(AnsweredRequestTest, TheTrainingIsThatOfThePlan) {
  PlanResult result;
  result.training = testing::TestTraining();
  result.training->flash_attention = !result.training->flash_attention;

  const PlanFile file = AnsweredRequest(ARequest(), result);

  EXPECT_EQ(file.training, *result.training);
  EXPECT_THAT(file.explanation, ::testing::IsEmpty());
}

}  // namespace
}  // namespace tangram
