#include "cli/print/print_comparison.h"

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// An answer with one stage on each of `num_gpus` GPUs.
PlannerAnswer AnswerOf(const std::string& planner, double iteration_time_s,
                       int num_gpus) {
  PlanFile file{.model = testing::TestModel(4)};
  file.result.closed_form_s = 1.5 * iteration_time_s;
  file.provenance.wall_s = 0.25;
  Evaluation& evaluation = file.result.evaluation;
  evaluation.iteration_time_s = iteration_time_s;
  PipelinePlan& plan = file.result.plan.emplace();
  plan.pipeline_microbatch_size = 1;
  for (int i = 0; i < num_gpus; ++i) {
    plan.stages.push_back({.gpus = {{.node = 0, .index = i}}});
    evaluation.stages.push_back({.forward_s = 1,
                                 .backward_s = 2,
                                 .busy_s = iteration_time_s / 2,
                                 .idle_s = iteration_time_s / 2,
                                 .peak_bytes = 8e9,
                                 .capacity_bytes = 16e9});
  }
  return {.planner = planner, .file = std::move(file)};
}

PlannerAnswer NoPlan(const std::string& planner) {
  PlanFile file;
  file.result.infeasible =
      Infeasible{.reason = "does not fit", .bytes_short = 2e9};
  return {.planner = planner, .file = std::move(file)};
}

std::vector<PlannerAnswer> FourAnswers() {
  std::vector<PlannerAnswer> answers;
  answers.push_back(NoPlan("narrow"));
  answers.push_back(AnswerOf("slow", 12, 2));
  answers.push_back(
      {.planner = "picky", .file = absl::InvalidArgumentError("batch: 7")});
  answers.push_back(AnswerOf("fast", 10, 4));
  answers.back().frameworks = {"megatron", "flagscale"};
  SortByTime(answers);
  return answers;
}

TEST(PrintComparisonTest, ShowsFiguresAndReasons) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{.out = out, .err = err};
  PrintComparison(FourAnswers(), console);
  const std::string text = out.str();
  EXPECT_THAT(text, StartsWith("Planners\n"
                               "  planner  iteration     own estimate  memory  "
                               "GPUs  stages  planning"
                               "  runs in\n"
                               "  fast        10.0 s  15.0 s, +50.0 %  50.0 %  "
                               "   4       4    250 ms"
                               "  megatron, +1\n"
                               "  slow        12.0 s  18.0 s, +50.0 %  50.0 %  "
                               "   2       2    250 ms"
                               "  none\n"
                               "  narrow     no plan\n"
                               "  picky      no plan\n"));
  EXPECT_THAT(text, HasSubstr("fast is 20.0 % faster than slow: GPUs 2 -> 4, "
                              "stages 2 -> 4\n"));
  EXPECT_THAT(text, HasSubstr("narrow: does not fit (2.00 GB short on each "
                              "GPU)\n  picky: batch: 7\n"));
}

TEST(PrintComparisonTest, TheTableIsNoWiderThanAPage) {
  PlannerAnswer single = AnswerOf("megatron-uniform", 0.0156, 128);
  single.file->result.closed_form_s = 0.38;
  single.file->provenance.wall_s = 227e-6;
  single.frameworks = {"torchtitan", "a", "b", "c", "d", "e",
                       "f",          "g", "h", "i", "j", "k"};
  PlannerAnswer several = AnswerOf("hexiscale", 0.018, 64);
  PlanResult& result = several.file->result;
  for (int r = 0; r < 16; ++r) {
    result.replicated_evaluation.pipelines.push_back(result.evaluation);
    result.replicated_evaluation.iteration_time_s = 0.018;
  }
  result.replicated_plan = {
      .pipelines = std::vector<PipelineReplica>(16, {.plan = *result.plan})};
  result.plan.reset();
  std::ostringstream out;
  std::ostringstream err;
  Console console{.out = out, .err = err};
  PrintComparison(std::vector<PlannerAnswer>{single, several}, console);
  const std::string text = out.str();
  EXPECT_THAT(text, HasSubstr("380 ms, +2336 %"));
  EXPECT_THAT(text, HasSubstr("1024 in 16"));
  EXPECT_THAT(text, HasSubstr("torchtitan, +11\n"));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    EXPECT_LE(line.size(), 101u) << line;  // The micro sign has two bytes.
  }
}

TEST(PrintComparisonTest, JsonHasTheSame) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{.out = out, .err = err, .format = OutputFormat::kJson};
  PrintComparisonAsJson(FourAnswers(), console);
  const auto view = nlohmann::json::parse(out.str());
  EXPECT_EQ(view["format_version"], "tangram.comparison/v1");
  ASSERT_EQ(view["planners"].size(), 4u);
  const auto& fast = view["planners"][0];
  EXPECT_EQ(fast["planner"], "fast");
  EXPECT_EQ(fast["iteration_time_s"], 10);
  EXPECT_EQ(fast["predicted_s"], 15);
  EXPECT_EQ(fast["prediction_error"], 0.5);
  EXPECT_EQ(fast["gpus"], 4);
  EXPECT_THAT(fast["frameworks"], ElementsAre("megatron", "flagscale"));
  EXPECT_THAT(std::string(fast["why_faster_than_next"]),
              StartsWith("fast is 20.0 % faster"));
  EXPECT_FALSE(view["planners"][1].contains("why_faster_than_next"));
  EXPECT_EQ(view["planners"][3]["reason"], "batch: 7");
}

}  // namespace
}  // namespace tangram
