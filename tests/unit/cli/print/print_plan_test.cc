#include "cli/print/print_plan.h"

#include <sstream>

#include "cli/print/print_stages.h"
#include "gmock/gmock.h"
#include "tests/testing/two_stage_plan.h"

namespace tangram {
namespace {

using ::tangram::testing::TwoStagePlan;
using ::testing::HasSubstr;
using ::testing::Not;

std::string PrintedPart(void (*print)(const PlanFile&, Console&),
                        const PlanFile& file) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{.out = out, .err = err};
  print(file, console);
  EXPECT_EQ(err.str(), "");
  return out.str();
}

TEST(PrintPredictionTest, HasAllFigures) {
  const auto print = [](const PlanFile& file, Console& console) {
    PrintPrediction(file.result, console);
  };
  const std::string text = PrintedPart(print, TwoStagePlan());

  EXPECT_THAT(text, HasSubstr("iteration time    2.00 s\n"));
  EXPECT_THAT(text, HasSubstr("8,192 tokens/s, 16.00 samples/s\n"));
  EXPECT_THAT(text, HasSubstr("bubble            25.0 %"));
}

TEST(PrintRunnersUpTest, ComparesThemWithThePlan) {
  const auto print = [](const PlanFile& file, Console& console) {
    PrintRunnersUp(file.result, console);
  };
  PlanFile file = TwoStagePlan();
  EXPECT_EQ(PrintedPart(print, file), "");
  file.result.runners_up = {{.islands = {0, 1},
                             .num_stages = 3,
                             .pipeline_microbatch_size = 8,
                             .iteration_time_s = 2.5}};
  // 2.5 s / 2 s - 1
  EXPECT_THAT(PrintedPart(print, file),
              HasSubstr("F x2, S x2       3                     8     2.50 s  "
                        "25.0 %\n"));
}

TEST(PrintRunnersUpTest, SaysWhyAFasterOneWasNotChosen) {
  const auto print = [](const PlanFile& file, Console& console) {
    PrintRunnersUp(file.result, console);
  };
  PlanFile file = TwoStagePlan();
  file.result.islands.push_back({.id = 2, .name = "X x2"});
  file.result.runners_up = {{.islands = {0, 1, 2}, .iteration_time_s = 1.98},
                            {.islands = {0, 1}, .iteration_time_s = 1.99},
                            {.islands = {0, 1}, .iteration_time_s = 2.01}};
  const std::string text = PrintedPart(print, file);

  EXPECT_THAT(text, HasSubstr("  1.98 s was not chosen: it needs X x2 too, for "
                              "a smaller gain than"));
  EXPECT_THAT(text, HasSubstr("  1.99 s was not chosen: it was scored by other "
                              "constants"));
  EXPECT_THAT(text, Not(HasSubstr("2.01 s was not")));
}

TEST(PrintPlanningCostTest, ListsPhasesAndCounts) {
  PlanFile file = TwoStagePlan();
  file.result.stats.pairs = 12345;
  file.provenance = {.parallelizer = "hand 1",
                     .phases = {{.phase = "slice_plans", .wall_s = 1.5}},
                     .wall_s = 2,
                     .num_workers = 1};
  const std::string text = PrintedPart(PrintPlanningCost, file);

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
