#include "common/sim/explain_replicated_plan.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/format.h"
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
struct TwoNodes {
  explicit TwoNodes(int share) {
    for (int r = 0; r < 2; ++r) {
      plan.pipelines.push_back(
          {.plan = {.pipeline_microbatch_size = 4,
                    .stages = {StageOn(0, 6, {.dp_degree = 4},
                                       NodeGpus(r, 4))}},
           .num_microbatches = r == 0 ? share : 8 - share});
    }
  }

  ReplicatedEvaluation Evaluate() const {
    const absl::StatusOr<ReplicatedEvaluation> evaluation =
        EvaluateReplicatedPlan(model, cluster, training, plan);
    EXPECT_THAT(evaluation, testing::IsOk());
    return evaluation.ok() ? *evaluation : ReplicatedEvaluation();
  }

  std::vector<std::string> Explain() const {
    return ExplainReplicatedPlan(model, cluster, training, plan, Evaluate());
  }

  ModelSpec model = testing::TestModel(4);
  Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 2, .device = testing::TestDevice("T4")}});
  TrainingOptions training = testing::TestTraining(32);
  ReplicatedPlan plan;
};

TEST(ExplainReplicatedPlanTest, NamesSharesThatShortenTheIteration) {
  const double gain = 1 - TwoNodes(4).Evaluate().iteration_time_s /
                              TwoNodes(6).Evaluate().iteration_time_s;
  EXPECT_THAT(
      TwoNodes(6).Explain(),
      Contains("shares of 4, 4 microbatches would make the iteration about " +
               FormatPercent(gain) + " shorter"));
  EXPECT_THAT(TwoNodes(4).Explain(), Not(Contains(HasSubstr("shorter"))));
}

// A page shows the sentences about its own pipeline.
TEST(ExplainReplicatedPlanTest, EachPipelineHasItsPartOfTheSentences) {
  const TwoNodes in(4);
  std::vector<std::string> about_one;
  for (const std::string& sentence : in.Explain()) {
    if (absl::StartsWith(sentence, "pipeline ")) about_one.push_back(sentence);
  }
  std::vector<std::string> parts;
  for (size_t r = 0; r < in.plan.pipelines.size(); ++r) {
    for (const std::string& sentence :
         ExplainPipeline(in.model, in.cluster, in.plan, in.Evaluate(), r)) {
      EXPECT_TRUE(absl::StartsWith(sentence, absl::StrCat("pipeline ", r)));
      parts.push_back(sentence);
    }
  }
  EXPECT_THAT(parts, ::testing::UnorderedElementsAreArray(about_one));
}

TEST(ExplainReplicatedPlanTest, NamesNoSharesIfTheExchangeHidesTheGain) {
  TwoNodes in(6);
  in.cluster.links[0][0].bandwidth_bytes_per_s /= 1e4;
  in.cluster.links[0][0].pair_bandwidth_bytes_per_s /= 1e4;
  EXPECT_THAT(in.Explain(), Not(Contains(HasSubstr("shares of"))));
}

TEST(ExplainReplicatedPlanTest, NamesNoSharesThatAPlanCannotHave) {
  TwoNodes in(7);
  // A pipeline that is not worth even one microbatch.
  in.cluster = testing::TestCluster(
      {{.name = "a", .device = testing::TestDevice("T4")},
       {.name = "b", .device = testing::TestDevice("SLOW")}});
  in.cluster.nodes[1].device.peak_flops.fp16 /= 1e3;
  EXPECT_THAT(in.Explain(), Not(Contains(HasSubstr("shares of"))));
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
      ExplainReplicatedPlan(model, cluster, training, plan, evaluation),
      Contains(::testing::AllOf(
          HasSubstr("pipeline 0: Stage 0 has replicas that differ (routed): "
                    "group 0 (2 x T4, tp 2) takes 5 of 8 microbatches, each"),
          HasSubstr("group 1 (1 x T4, 1 GPU) takes 3 of 8"))));
}

}  // namespace
}  // namespace tangram
