#include "cli/print/print_answer.h"

#include <sstream>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "formats/config/memory_margin.h"
#include "gmock/gmock.h"
#include "tests/testing/two_stage_plan.h"

namespace tangram {
namespace {

using ::tangram::testing::TwoStagePlan;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string PrintedAnswer(const AnswerView& view, int width = kUsualWidth) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{.out = out, .err = err, .width = width};
  PrintAnswer(view, console);
  EXPECT_EQ(err.str(), "");
  return out.str();
}

std::string PrintedAnswer(const PlanFile& file) {
  return PrintedAnswer(AnswerView{.file = file});
}

// Returns the words of `text`, one blank apart.
std::string Unwrapped(const std::string& text) {
  return absl::StrJoin(
      absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
}

TEST(PrintAnswerTest, HasALineForEachStage) {
  const std::string text = PrintedAnswer(TwoStagePlan());

  EXPECT_THAT(text, HasSubstr("2 stages, 8 microbatches of 4 samples, made by "
                              "hand\n"));
  // 0.04 s + 0.08 s; 4 of 16 GB.
  EXPECT_THAT(text, HasSubstr("0  2 x F  fast-0  emb-3    2   1  1/1  120 ms   "
                              "4.0/16.0  25 %\n"));
  EXPECT_THAT(text, HasSubstr("1  2 x S  slow-0  4-head"));
}

TEST(PrintAnswerTest, NamesAScheduleOtherThanTheUsualOne) {
  PlanFile file = TwoStagePlan();
  EXPECT_THAT(PrintedAnswer(file), Not(HasSubstr("schedule")));
  file.result.plan->schedule = PipelineSchedule::kZeroBubbleH1;
  EXPECT_THAT(PrintedAnswer(file),
              HasSubstr("8 microbatches of 4 samples, schedule zb-h1"));
}

TEST(PrintAnswerTest, BeginsWithTheHeadline) {
  PlanFile file = TwoStagePlan();
  file.result.band = PredictionBand{.time = {0.9, 1.2}, .memory = {0.9, 1.1}};
  KeepMemoryFree(0.2, file.cluster.MakeOwn());
  const std::string text = PrintedAnswer(file);

  // 1e9 / 8192 s = 33.9 h on 4 GPUs.
  EXPECT_THAT(
      text,
      HasSubstr("Answer\n"
                "  iteration time  2.00 s, 8,192 tokens/s\n"
                "  expected        1.80 s to 2.40 s in 90 % of runs\n"
                "  training        1 billion tokens take 33.9 hours, 136 "
                "GPU-hours (--tokens N)\n"
                // 16 GB are usable of 20, and 4 are used.
                "  memory          fits; the fullest GPU, in stage 0, keeps "
                "80.0 % of its 20.0 GB\n"
                "                  free\n"));
}

TEST(PrintAnswerTest, SaysWhatTrainingTakes) {
  const PlanFile file = TwoStagePlan();
  AnswerView view{.file = file};
  view.tokens = 3e12;
  view.price_per_hour = 2.5;

  // 3e12 / 8192 s = 4,239 days = 101,725 h.
  EXPECT_THAT(PrintedAnswer(view),
              HasSubstr("training        3 trillion tokens take 4,239 days, "
                        "406,901 GPU-hours, cost\n"
                        "                  254,313\n"));
}

TEST(PrintAnswerTest, WarnsWherePeaksMayBeHigherThanTheMemory) {
  PlanFile file = TwoStagePlan();
  file.result.band = PredictionBand{.time = {0.9, 1.2}, .memory = {0.9, 1.1}};
  file.result.evaluation.stages[1].peak_bytes = 15.2e9;

  EXPECT_THAT(
      Unwrapped(PrintedAnswer(file)),
      HasSubstr("in stage 1, keeps 5.0 % of its 16.0 GB free, less than "
                "the +10 % by which peaks may be higher"));
}

TEST(PrintAnswerTest, NamesTheFrameworksAndTheNextCommand) {
  const PlanFile file = TwoStagePlan();
  AnswerView view{.file = file, .plan_path = "p.json"};
  view.takers = {{.framework = "aceso",
                  .losses = {"data: yours; becomes synthetic"},
                  .reads_data = false}};
  const PlanAlternative other = {.parallelizers = {"uniform"},
                                 .runtime = "megatron",
                                 .iteration_time_s = 2.5};
  view.on_own_data = &other;
  const std::string text = PrintedAnswer(view);

  EXPECT_THAT(
      Unwrapped(text),
      HasSubstr("runs in aceso, which reads no data of yours; --runtime "
                "megatron plans for one that does: 2.50 s, 25.0 % "
                "longer"));
  EXPECT_THAT(text,
              HasSubstr("  next            tangram export p.json --to aceso"
                        " --allow-lossy -o launch-aceso\n"
                        "    lost: data: yours; becomes synthetic\n"));
  view.plan_path.clear();
  EXPECT_THAT(PrintedAnswer(view),
              HasSubstr("this command again with -o plan.json"));
  view.takers.clear();
  EXPECT_THAT(PrintedAnswer(view), HasSubstr("no framework as it is"));
}

TEST(PrintAnswerTest, AShellJoinsALongCommand) {
  const PlanFile file = TwoStagePlan();
  AnswerView view{.file = file, .plan_path = std::string(50, 'p')};
  view.takers = {{.framework = "aceso"}};

  EXPECT_THAT(PrintedAnswer(view),
              HasSubstr("\n    tangram export " + std::string(50, 'p') +
                        " --to \\\n      aceso -o launch-aceso\n"));
}

TEST(PrintAnswerTest, RanksGuesses) {
  const PlanFile file = TwoStagePlan();
  AnswerView view{.file = file};
  view.guesses = {
      {.guess = {.name = "link a to b", .value = "1 GB/s", .source = "slower"},
       .if_less = 0.0141,
       .if_more = -0.009},
      {.guess = {.name = "compute of F", .value = "1 TFLOP/s"},
       .if_less = 0.0004}};
  const std::string text = PrintedAnswer(view);

  EXPECT_THAT(text,
              HasSubstr("  rate         assumed  20 % less  20 % more  by\n"
                        "  link a to b   1 GB/s     +1.4 %     -0.9 %  "
                        "slower\n"
                        "  less: 1 other rate; --verbose"));
  EXPECT_THAT(text, Not(HasSubstr("compute of F")));
}

TEST(PrintAnswerTest, KeepsNotesOnTheSearchForThoseWhoAsk) {
  PlanFile file = TwoStagePlan();
  file.result.notes = {"pipeline microbatch sizes tried: 1, 2",
                       "polished by small changes that the evaluation "
                       "confirms: 0.1 % faster",
                       "runtime aceso: 4 searches, one for each value of what "
                       "its stages share",
                       "T4 has no bf16 units"};
  EXPECT_THAT(PrintedAnswer(file),
              HasSubstr("\nNotes\n  T4 has no bf16 units\n"));
  AnswerView view{.file = file, .detail = Detail::kAll};
  EXPECT_THAT(PrintedAnswer(view),
              AllOf(HasSubstr("tried: 1, 2"), HasSubstr("polished by"),
                    HasSubstr("4 searches")));
}

TEST(PrintAnswerTest, BriefIsTheHeadlineAlone) {
  const PlanFile file = TwoStagePlan();
  const std::string text =
      PrintedAnswer(AnswerView{.file = file, .detail = Detail::kBrief});

  EXPECT_THAT(text, HasSubstr("iteration time"));
  EXPECT_THAT(text, Not(HasSubstr("Islands")));
  EXPECT_THAT(text, Not(HasSubstr("made by")));
}

TEST(PrintAnswerTest, AllHasFiguresBoundsAndAssumptions) {
  PlanFile file = TwoStagePlan();
  file.cluster.MakeOwn().assumptions = {{"groups[a].memory", "1 GB", "guess"}};
  const std::string text =
      PrintedAnswer(AnswerView{.file = file, .detail = Detail::kAll});

  EXPECT_THAT(text, HasSubstr("\nPrediction\n"));
  // 2 / 1.6 − 1.
  EXPECT_THAT(text, HasSubstr("at most 25.0 % above any composition"));
  EXPECT_THAT(text, HasSubstr("groups[a] (guess): memory 1 GB"));
  EXPECT_THAT(PrintedAnswer(file), Not(HasSubstr("above any composition")));
}

TEST(PrintAnswerTest, ComparesFrameworks) {
  PlanFile file = TwoStagePlan();
  file.constraints.runtime = kAutoRuntime;
  file.result.alternatives = {
      {.parallelizers = {"x"}, .runtime = "alpa", .iteration_time_s = 2.5},
      {.parallelizers = {"x"}, .runtime = "aceso", .iteration_time_s = 2},
      {.parallelizers = {"x"}, .runtime = "mist", .reason = "no"},
      {.runtime = "sailor", .reason = "no plan that takes less than 2.1 s"},
      {.parallelizers = {"x"},
       .runtime = kAnyRuntime,
       .iteration_time_s = 1.9,
       .reason = "none runs it"}};

  EXPECT_THAT(PrintedAnswer(file),
              HasSubstr("\nFrameworks\n"
                        "  aceso 2.00 s, alpa 2.50 s (+25.0 %)\n"
                        "  no plan for mist: --runtime NAME says why\n"
                        "  not searched: sailor: no plan that takes less than "
                        "2.1 s\n"
                        "  at least 5.0 % faster with --runtime any, 1.90 s, "
                        "but none runs it\n"));
}

TEST(PrintAnswerTest, SaysWhichIslandsAreUsed) {
  PlanFile file = TwoStagePlan();
  file.result.islands.push_back(
      {.id = 2, .name = "X x2", .nodes = {1}, .spec = {.num_nodes = 1}});
  file.result.unused_islands = {
      {.island = 2, .reason = "too slow", .best_with_it_s = 3}};
  const std::string text = PrintedAnswer(file);

  EXPECT_THAT(text, HasSubstr("stage 0\n"));
  EXPECT_THAT(text, HasSubstr("left out\n"));
  EXPECT_THAT(text, HasSubstr("left out: X x2: too slow; the best plan with it "
                              "takes 3.00 s\n"));
}

TEST(PrintAnswerTest, SaysWhyNoPlanFits) {
  PlanFile file = TwoStagePlan();
  file.result.plan.reset();
  file.result.infeasible = {.reason = "does not fit", .bytes_short = 2.5e9};

  EXPECT_THAT(
      PrintedAnswer(file),
      HasSubstr("No plan fits\n  does not fit; 2.50 GB short per GPU\n"));
}

TEST(PrintAnswerTest, ListsViolations) {
  PlanFile file = TwoStagePlan();
  file.result.evaluation.violations = {
      {.stage = 1, .reason = "out of memory", .bytes_short = 1e9}};

  EXPECT_THAT(PrintedAnswer(file),
              AllOf(HasSubstr("does not fit: 1 violation below\n"),
                    HasSubstr("violation: stage 1: out of memory, 1.00 GB "
                              "short per GPU\n")));
}

TEST(PrintAnswerTest, IgnoresIslandsThatDoNotExist) {
  PlanFile file = TwoStagePlan();
  file.result.plan->stages[0].island = 99;
  file.result.plan->stages[1].island = -1;

  EXPECT_THAT(PrintedAnswer(file), HasSubstr("left out"));
}

TEST(PrintAnswerTest, FitsAnyWidthWithoutColour) {
  PlanFile file = TwoStagePlan();
  file.result.notes = {std::string(30, 'a') + " " + std::string(30, 'b')};
  for (const int width : {60, 80, 200}) {
    for (const Detail detail : {Detail::kUsual, Detail::kAll}) {
      const std::string text =
          PrintedAnswer(AnswerView{.file = file, .detail = detail}, width);
      for (const absl::string_view line : absl::StrSplit(text, '\n')) {
        EXPECT_LE(line.size(), width) << line;
      }
      EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    }
  }
}

TEST(PrintAnswerTest, NamesColumnsThatDoNotFit) {
  const PlanFile file = TwoStagePlan();
  EXPECT_THAT(PrintedAnswer(AnswerView{.file = file}, 60),
              HasSubstr("\n  wider output also shows "));
  EXPECT_THAT(PrintedAnswer(AnswerView{.file = file}, 200),
              Not(HasSubstr("wider output")));
}

}  // namespace
}  // namespace tangram
