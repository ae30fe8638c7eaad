#include "common/sim/explain_replicated_plan.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::MixedOn;
using testing::NodeGpus;
using ::testing::Not;
using testing::StageOn;

// Two equal nodes, each a pipeline of one stage, with `share` and 8 − `share`
// microbatches of 4 samples.
std::vector<std::string> ExplainShares(int share) {
  const ModelSpec model = testing::TestModel(4);
  const Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 2, .device = testing::TestDevice("T4")}});
  const TrainingOptions training = testing::TestTraining(32);
  ReplicatedPlan plan;
  for (int r = 0; r < 2; ++r) {
    plan.pipelines.push_back(
        {.plan = {.pipeline_microbatch_size = 4,
                  .stages = {StageOn(0, 6, {.dp_degree = 4}, NodeGpus(r, 4))}},
         .num_microbatches = r == 0 ? share : 8 - share});
  }
  const absl::StatusOr<ReplicatedEvaluation> evaluation =
      EvaluateReplicatedPlan(model, cluster, training, plan);
  EXPECT_THAT(evaluation, testing::IsOk());
  return ExplainReplicatedPlan(model, cluster, plan, *evaluation);
}

TEST(ExplainReplicatedPlanTest, NamesSharesThatWouldEndSooner) {
  EXPECT_THAT(ExplainShares(6),
              Contains("shares of 4, 4 microbatches would end the last pass "
                       "about 33.3 % sooner"));
  EXPECT_THAT(ExplainShares(4), Not(Contains(HasSubstr("sooner"))));
}

TEST(ExplainPlanTest, SaysWhatTheGroupsOfAMixedStageTake) {
  const ModelSpec model = testing::TestModel(4);
  const Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 1, .device = testing::TestDevice("T4")}});
  const TrainingOptions training = testing::TestTraining(32);
  const PipelinePlan pipeline = {
      .pipeline_microbatch_size = 4,
      .stages = {
          MixedOn(0, 6,
                  {.sharing = StageSharing::kRouted,
                   .groups = {{.parallelism = {.tp_degree = 2}, .share = 5},
                              {.share = 3}}},
                  NodeGpus(0, 3))}};
  const ReplicatedPlan plan = {
      .pipelines = {{.plan = pipeline, .num_microbatches = 8}}};
  ASSERT_OK_AND_ASSIGN(const ReplicatedEvaluation evaluation,
                       EvaluateReplicatedPlan(model, cluster, training, plan));
  EXPECT_THAT(
      ExplainReplicatedPlan(model, cluster, plan, evaluation),
      Contains(::testing::AllOf(
          HasSubstr("pipeline 0: Stage 0 has replicas that differ (routed): "
                    "group 0 (2 x T4, tp 2) takes 5 of 8 microbatches, each"),
          HasSubstr("group 1 (1 x T4, 1 GPU) takes 3 of 8"))));
}

}  // namespace
}  // namespace tangram
