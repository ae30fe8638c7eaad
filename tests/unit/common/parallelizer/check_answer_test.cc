#include "common/parallelizer/check_answer.h"

#include <functional>
#include <string>
#include <vector>

#include "common/parallelizer/plan_figures.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOk;
using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestTraining;
using ::testing::HasSubstr;

PairContext ContextOfOnePair() {
  return {.training = TestTraining(32),
          .slices = {MakeSlice({0, 6}, TestModel(4).layers)},
          .islands = {TestIsland(1, 4)}};
}

constexpr PairQuery kPair = {.pipeline_microbatch_size = 4};

SliceStage HalfOfTheSlice(int begin, int end) {
  return {.plan = {.begin = {begin, 0},
                   .end = {end, 0},
                   .parallelism = {.dp_degree = 2},
                   .recompute = {{.num_layers = end - begin}}}};
}

// Two stages with the figures of the cost model.
SlicePlanSet TrueAnswer() {
  const PairContext context = ContextOfOnePair();
  const ParallelizeOptions options = {.training = context.training,
                                      .pipeline_microbatch_size = 4};
  SlicePlan plan = {.stages = {HalfOfTheSlice(0, 3), HalfOfTheSlice(3, 6)},
                    .made_by = "test"};
  const PlanEstimator estimator(context.slices[0], context.islands[0], options);
  const std::vector<StageFigures> figures = estimator.FiguresOf(plan);
  for (int i = 0; i < 2; ++i) {
    plan.stages[i].time_s = figures[i].time_s;
    plan.stages[i].backward_s = figures[i].backward_s;
    plan.stages[i].sync_s = figures[i].sync_s;
  }
  plan.max_trailing_stages = estimator.TrailingStages(figures);
  return {.plans = {plan}};
}

std::string MessageOf(const SlicePlanSet& answer,
                      absl::string_view adapter = "test") {
  return std::string(
      CheckAnswer(ContextOfOnePair(), kPair, answer, adapter).message());
}

TEST(CheckAnswerTest, AcceptsTheFiguresOfTheCostModel) {
  EXPECT_THAT(CheckAnswer(ContextOfOnePair(), kPair, TrueAnswer(), "test"),
              IsOk());
}

TEST(CheckAnswerTest, AcceptsRoundingOnly) {
  SlicePlanSet answer = TrueAnswer();
  answer.plans[0].stages[0].time_s *= 1 + 1e-12;
  EXPECT_EQ(MessageOf(answer), "");
  answer.plans[0].stages[0].time_s *= 1 + 1e-8;
  EXPECT_THAT(MessageOf(answer), HasSubstr("plans[0].stages[0].time_s: "));
}

TEST(CheckAnswerTest, NamesTheFigureThatIsNotTheCostModels) {
  const auto message = [](const std::function<void(SlicePlan&)>& spoil) {
    SlicePlanSet answer = TrueAnswer();
    spoil(answer.plans[0]);
    return MessageOf(answer);
  };
  EXPECT_THAT(message([](SlicePlan& p) { p.stages[1].time_s *= 1.01; }),
              HasSubstr("plans[0].stages[1].time_s: "));
  EXPECT_THAT(message([](SlicePlan& p) { p.stages[0].backward_s *= 0.99; }),
              HasSubstr("plans[0].stages[0].backward_s: "));
  EXPECT_THAT(message([](SlicePlan& p) { p.stages[0].sync_s = 0; }),
              HasSubstr("plans[0].stages[0].sync_s: 0; expected "));
  EXPECT_THAT(message([](SlicePlan& p) { --p.max_trailing_stages; }),
              HasSubstr("plans[0].max_trailing_stages: "));
  // The plan is legal, but the changed stages have other times.
  EXPECT_THAT(message([](SlicePlan& p) {
                p.stages[0].plan.parallelism = {.tp_degree = 2};
              }),
              HasSubstr("plans[0].stages[0].time_s: "));
}

TEST(CheckAnswerTest, TakesNobodysWordOnMemory) {
  PairContext context = ContextOfOnePair();
  context.islands[0].device.memory_bytes = 1e6;

  EXPECT_THAT(
      std::string(CheckAnswer(context, kPair, TrueAnswer(), "test").message()),
      HasSubstr("as memory bears"));
}

TEST(CheckAnswerTest, PlansNameTheirAdapter) {
  EXPECT_EQ(MessageOf(TrueAnswer(), ""), "");
  EXPECT_EQ(MessageOf(TrueAnswer(), "other"),
            "plans[0].made_by: test; expected other");
}

TEST(CheckAnswerTest, AnswersAreOfTheKindThatWasAsked) {
  EXPECT_EQ(
      std::string(CheckAnswer(ContextOfOnePair(), kPair, PerformanceProfile())
                      .message()),
      "answer: profile; expected parallelize");
  EXPECT_EQ(
      std::string(CheckAnswer(ContextOfOnePair(), ProfileQuery(), ModelSlice())
                      .message()),
      "answer: concatenate; expected profile");
}

TEST(CheckAnswerTest, SlicesAreThoseOfTheModel) {
  const ModelSpec model = TestModel(2);
  const std::vector<ModelSlice> atoms = SliceByLayer(model);
  const PairContext none;

  EXPECT_THAT(CheckAnswer(none, SliceModelQuery{model}, atoms), IsOk());
  EXPECT_FALSE(CheckAnswer(none, SliceModelQuery{TestModel(3)}, atoms).ok());
  const ConcatenateQuery joined{atoms[0], atoms[1]};
  EXPECT_THAT(CheckAnswer(none, joined, JoinSlices(atoms[0], atoms[1])),
              IsOk());
  EXPECT_FALSE(CheckAnswer(none, joined, atoms[0]).ok());
}

}  // namespace
}  // namespace tangram
