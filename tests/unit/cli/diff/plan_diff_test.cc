#include "cli/diff/plan_diff.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"
#include "tests/unit/cli/diff/differences.h"

namespace tangram {
namespace {

using ::tangram::testing::NodeGpus;
using ::tangram::testing::Of;
using ::tangram::testing::StageOn;
using ::tangram::testing::TestCluster;
using ::tangram::testing::TestDevice;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestTraining;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A plan on two nodes of four GPUs, with layers [0, cut) on the first node and
// the others on the second.
PlanFile TwoStages(int cut = 3) {
  PlanFile file;
  file.cluster = TestCluster({{.name = "fast", .device = TestDevice("F")},
                              {.name = "slow", .device = TestDevice("S")}});
  file.model = TestModel(4);
  file.training = TestTraining(32);
  file.result.islands = {{.name = "F x4"}, {.name = "S x4"}};
  const StageParallelism parallelism{.tp_degree = 2, .dp_degree = 2};
  file.result.plan =
      PipelinePlan{.pipeline_microbatch_size = 4,
                   .stages = {StageOn(0, cut, parallelism, NodeGpus(0, 4)),
                              StageOn(cut, 6, parallelism, NodeGpus(1, 4))}};
  file.result.plan->stages[0].island = 0;
  file.result.plan->stages[1].island = 1;
  const StageEvaluation stage{.forward_s = 1,
                              .backward_s = 2,
                              .peak_bytes = 4e9,
                              .capacity_bytes = 16e9};
  file.result.evaluation = {.iteration_time_s = 10, .stages = {stage, stage}};
  return file;
}

TEST(DiffPlansTest, FindsNothingInEqualPlans) {
  PlanFile other = TwoStages();
  other.cluster.MakeOwn().name = other.model.name = "another name";
  other.provenance.wall_s = 100;
  other.result.plan->stages[0].made_by = "somebody else";
  const PlanDiff diff = DiffPlans(TwoStages(), other);

  EXPECT_TRUE(diff.same());
  ASSERT_EQ(diff.stages.size(), 2);
  EXPECT_THAT(diff.stages[0].differences, IsEmpty());
}

TEST(DiffPlansTest, WarmUpCountsEqualThoseOfPlain1F1BIfTheySaySo) {
  PlanFile other = TwoStages();
  other.result.plan->warm_up_passes = {2, 1};
  EXPECT_TRUE(DiffPlans(TwoStages(), other).same());
  EXPECT_TRUE(DiffPlans(other, TwoStages()).same());
  other.result.plan->warm_up_passes = {3, 1};
  EXPECT_FALSE(DiffPlans(TwoStages(), other).same());
}

TEST(DiffPlansTest, NamesWhatDiffersAsAWhole) {
  PlanFile other = TwoStages(/*cut=*/4);
  other.result.plan->pipeline_microbatch_size = 8;
  other.result.plan->stages[1].island = 0;
  other.result.evaluation.iteration_time_s = 12;
  other.result.evaluation.stages[1].peak_bytes = 8e9;
  other.result.evaluation.violations.emplace_back();
  const PlanDiff diff = DiffPlans(TwoStages(), other);

  EXPECT_FALSE(diff.same());
  EXPECT_THAT(diff.plan, ElementsAre(Of("islands", "F x4, S x4", "F x4"),
                                     Of("pipeline_microbatch_size", 4, 8),
                                     // The embedding is layer 0.
                                     Of("cuts", "2", "3")));
  EXPECT_THAT(diff.prediction,
              ElementsAre(Of("iteration_time_s", 10.0, 12.0),
                          // 4 of 16 GB and 8 of 16 GB.
                          Of("fullest_memory_fraction", 0.25, 0.5),
                          Of("violations", int64_t{0}, int64_t{1})));
}

TEST(DiffPlansTest, PlansWithoutIslandsAreNotComparedByIsland) {
  PlanFile imported = TwoStages();
  imported.result.islands.clear();
  for (PlacedStage& stage : imported.result.plan->stages) stage.island = -1;
  EXPECT_TRUE(DiffPlans(TwoStages(), imported).same());
}

TEST(DiffPlansTest, SaysWhichSideHasNoPlan) {
  PlanFile none = TwoStages();
  none.result.plan.reset();
  none.result.infeasible = {.reason = "too big"};
  const PlanDiff diff = DiffPlans(TwoStages(), none);

  EXPECT_THAT(diff.plan,
              ElementsAre(Of("answer", "a plan", "no plan fits: too big")));
  EXPECT_THAT(diff.stages, IsEmpty());
  EXPECT_TRUE(DiffPlans(none, none).same());
}

TEST(DiffPlansTest, StagesOfAnotherModelAreNotAligned) {
  PlanFile other = TwoStages();
  other.model = TestModel(4, /*hidden_size=*/2048);
  const PlanDiff diff = DiffPlans(TwoStages(), other);

  EXPECT_FALSE(diff.same());
  EXPECT_THAT(diff.plan, IsEmpty());
  EXPECT_THAT(diff.stages, IsEmpty());
}

}  // namespace
}  // namespace tangram
