#include "cli/print/print_plan.h"

#include <sstream>

#include "absl/strings/str_split.h"
#include "cli/print/table.h"
#include "gmock/gmock.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"

namespace tangram {
namespace {

using ::tangram::testing::NodeGpus;
using ::tangram::testing::StageOn;
using ::tangram::testing::TestCluster;
using ::tangram::testing::TestDevice;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestTraining;
using ::testing::HasSubstr;
using ::testing::Not;

PlacedStage Stage(int begin_layer, int end_layer, int node) {
  PlacedStage stage = StageOn(begin_layer, end_layer, {.tp_degree = 2},
                              NodeGpus(node, /*count=*/2));
  stage.island = node;
  stage.made_by = "hand";
  return stage;
}

// A plan on two nodes of two GPUs, with one stage on each and an evaluation of
// round numbers.
PlanFile TwoStagePlan() {
  PlanFile file;
  file.cluster = TestCluster(
      {{.name = "fast", .gpus_per_node = 2, .device = TestDevice("F")},
       {.name = "slow", .gpus_per_node = 2, .device = TestDevice("S")}});
  file.model = TestModel(4);
  file.training = TestTraining(32);
  for (int i = 0; i < 2; ++i) {
    file.result.islands.push_back(
        {.id = i,
         .name = i == 0 ? "F x2" : "S x2",
         .nodes = {i},
         .spec = {.device = TestDevice(), .num_nodes = 1, .gpus_per_node = 2}});
  }
  file.result.plan = PipelinePlan{.pipeline_microbatch_size = 4,
                                  .stages = {Stage(0, 4, 0), Stage(4, 6, 1)}};
  file.result.evaluation = {.iteration_time_s = 2,
                            .samples_per_s = 16,
                            .tokens_per_s = 8192,  // 16 · 512
                            .bubble_fraction = 0.25};
  const StageEvaluation stage{.forward_s = 0.04,
                              .backward_s = 0.08,
                              .peak_bytes = 4e9,
                              .capacity_bytes = 16e9};
  file.result.evaluation.stages = {stage, stage};
  file.result.lower_bound_s = 1.6;
  file.result.closed_form_s = 2;
  return file;
}

std::string Printed(void (*print)(const PlanFile&, Console&),
                    const PlanFile& file) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{.out = out, .err = err};
  print(file, console);
  EXPECT_EQ(err.str(), "");
  return out.str();
}

TEST(PrintPlanTest, HasALineForEachStage) {
  const std::string text = Printed(PrintPlanFile, TwoStagePlan());

  EXPECT_THAT(text, HasSubstr("2 stages, 8 microbatches of 4 samples, made by "
                              "hand\n"));
  // 0.04 s + 0.08 s; 4 of 16 GB.
  EXPECT_THAT(text, HasSubstr("0  2 x F  fast-0  emb-3    2   1  1/1      "
                              "120 ms   4.0/16.0  25 %\n"));
  EXPECT_THAT(text, HasSubstr("1  2 x S  slow-0  4-head"));
}

TEST(PrintPlanTest, NamesAScheduleOtherThanTheUsualOne) {
  PlanFile file = TwoStagePlan();
  EXPECT_THAT(Printed(PrintPlanFile, file), Not(HasSubstr("schedule")));
  file.result.plan->schedule = PipelineSchedule::kZeroBubbleH1;
  EXPECT_THAT(Printed(PrintPlanFile, file),
              HasSubstr("8 microbatches of 4 samples, schedule zb-h1"));
}

TEST(PrintPlanTest, PredictsTimeAndBoundsIt) {
  const std::string text = Printed(PrintPlanFile, TwoStagePlan());

  EXPECT_THAT(text, HasSubstr("iteration time   2.00 s\n"));
  EXPECT_THAT(text, HasSubstr("8,192 tokens/s, 16.00 samples/s\n"));
  EXPECT_THAT(text, HasSubstr("bubble           25.0 %"));
  // 2 / 1.6 − 1.
  EXPECT_THAT(text, HasSubstr("at most 25.0 % above any composition"));
}

TEST(PrintPlanTest, SaysWhichIslandsAreUsed) {
  PlanFile file = TwoStagePlan();
  file.result.islands.push_back(
      {.id = 2, .name = "X x2", .nodes = {1}, .spec = {.num_nodes = 1}});
  file.result.unused_islands = {
      {.island = 2, .reason = "too slow", .best_with_it_s = 3}};
  const std::string text = Printed(PrintPlanFile, file);

  EXPECT_THAT(text, HasSubstr("stage 0\n"));
  EXPECT_THAT(text, HasSubstr("left out\n"));
  EXPECT_THAT(text, HasSubstr("left out: X x2: too slow; the best plan with it "
                              "takes 3.00 s\n"));
}

TEST(PrintPlanTest, SaysWhyNoPlanFits) {
  PlanFile file = TwoStagePlan();
  file.result.plan.reset();
  file.result.infeasible = {.reason = "does not fit", .bytes_short = 2.5e9};

  EXPECT_THAT(
      Printed(PrintPlanFile, file),
      HasSubstr("No plan fits\n  does not fit; 2.50 GB short per GPU\n"));
}

TEST(PrintPlanTest, ListsViolations) {
  PlanFile file = TwoStagePlan();
  file.result.evaluation.violations = {
      {.stage = 1, .reason = "out of memory", .bytes_short = 1e9}};

  EXPECT_THAT(Printed(PrintPlanFile, file),
              HasSubstr("violation: stage 1: out of memory, 1.00 GB short per "
                        "GPU\n"));
}

TEST(PrintPlanTest, IgnoresIslandsThatDoNotExist) {
  PlanFile file = TwoStagePlan();
  file.result.plan->stages[0].island = 99;
  file.result.plan->stages[1].island = -1;

  EXPECT_THAT(Printed(PrintPlanFile, file), HasSubstr("left out"));
}

TEST(PrintPlanTest, FitsTheWidthWithoutColour) {
  PlanFile file = TwoStagePlan();
  file.result.notes = {std::string(60, 'a') + " " + std::string(60, 'b')};
  const std::string text = Printed(PrintPlanFile, file);

  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    EXPECT_LE(line.size(), kOutputWidth) << line;
  }
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(PrintRunnersUpTest, ComparesThemWithThePlan) {
  const auto print = [](const PlanFile& file, Console& console) {
    PrintRunnersUp(file.result, console);
  };
  PlanFile file = TwoStagePlan();
  EXPECT_EQ(Printed(print, file), "");
  file.result.runners_up = {{.islands = {0, 1},
                             .num_stages = 3,
                             .pipeline_microbatch_size = 8,
                             .iteration_time_s = 2.5}};
  // 2.5 s / 2 s - 1
  EXPECT_THAT(Printed(print, file),
              HasSubstr("F x2, S x2       3                     8     2.50 s  "
                        "25.0 %\n"));
}

TEST(PrintPlanningCostTest, ListsPhasesAndCounts) {
  PlanFile file = TwoStagePlan();
  file.result.stats.pairs = 12345;
  file.provenance = {.parallelizer = "hand 1",
                     .phases = {{.phase = "slice_plans", .wall_s = 1.5}},
                     .wall_s = 2,
                     .num_workers = 1};
  const std::string text = Printed(PrintPlanningCost, file);

  EXPECT_THAT(text, HasSubstr("2.00 s with hand 1 on 1 thread\n"));
  EXPECT_THAT(text, HasSubstr("slice plans  1.50 s\n"));
  EXPECT_THAT(text, HasSubstr("12,345\n"));
}

TEST(PrintStagesTest, NamesTechniquesWithoutAColumn) {
  PlanFile file = TwoStagePlan();
  PipelinePlan& plan = *file.result.plan;
  const auto printed = [&] {
    std::ostringstream out;
    std::ostringstream err;
    Console console{.out = out, .err = err};
    PrintStages(file, console);
    return out.str();
  };
  EXPECT_THAT(printed(), Not(HasSubstr("sequence parallelism")));
  plan.stages[1].plan.parallelism.sequence_parallel = true;
  EXPECT_THAT(printed(), HasSubstr("\n  sequence parallelism in stage 1\n"));
  plan.stages[0].plan.parallelism.sequence_parallel = true;
  EXPECT_THAT(printed(), HasSubstr("\n  sequence parallelism in all stages\n"));
  plan.stages[0].plan.recompute.front().mask = 1 | kDropOutputs;
  EXPECT_THAT(printed(),
              HasSubstr("outputs of recomputed segments dropped in stage 0\n"));
  plan.stages[0].plan.parallelism = {
      .dp_degree = 2, .ep_degree = 2, .fsep = true};
  EXPECT_THAT(printed(), HasSubstr("2 fsep"));
}

}  // namespace
}  // namespace tangram
