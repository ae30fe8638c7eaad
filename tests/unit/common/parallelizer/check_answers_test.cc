#include "common/parallelizer/check_answers.h"

#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/domain/pipeline_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOk;
using ::tangram::testing::TestCluster;
using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestMoeModel;
using ::tangram::testing::TestTraining;
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Embedding, four layers with 16 heads, head.
ModelSlice Slice() { return MakeSlice({0, 6}, TestModel(4).layers); }

// Stages of 4 + 4 + 8 GPUs on 4 nodes of 4: layers 0-1, 2-3 up to its MLP,
// the rest.
SlicePlanSet GoodAnswer() {
  const auto stage = [](OperatorCut begin, OperatorCut end, int tp, int dp) {
    const int touched = LayersTouched(begin, end);
    return SliceStage{
        .plan = {.begin = begin,
                 .end = end,
                 .parallelism = {.tp_degree = tp, .dp_degree = dp},
                 .recompute = {{.num_layers = 1, .mask = 1},
                               {.num_layers = touched - 1}}},
        .time_s = 3,
        .backward_s = 2};
  };
  return {.plans = {{.stages = {stage({0, 0}, {2, 0}, 2, 2),
                                stage({2, 0}, {3, 5}, 4, 1),
                                stage({3, 5}, {6, 0}, 4, 2)},
                     .max_trailing_stages = 3,
                     .made_by = "test"}}};
}

absl::Status Check(const SlicePlanSet& answer) {
  return CheckSlicePlanSet(answer, Slice(), TestIsland(4, 4),
                           {.training = TestTraining(32),
                            .pipeline_microbatch_size = 4,
                            .trailing_stages = 3});
}

TEST(CheckSlicePlanSetTest, AcceptsAGoodAnswer) {
  EXPECT_THAT(Check(GoodAnswer()), IsOk());
}

TEST(CheckSlicePlanSetTest, AcceptsAReasonInsteadOfPlans) {
  EXPECT_THAT(Check({.infeasible = Infeasible{.reason = "too big"}}), IsOk());
}

struct Case {
  std::string name;
  std::function<void(SlicePlanSet&)> spoil;
  std::string message;
};

class BadAnswerTest : public ::testing::TestWithParam<Case> {};

TEST_P(BadAnswerTest, IsSaidToBeBad) {
  SlicePlanSet answer = GoodAnswer();
  GetParam().spoil(answer);

  const absl::Status status = Check(answer);

  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

StagePlan& Stage(SlicePlanSet& answer, int i) {
  return answer.plans[0].stages[i].plan;
}

INSTANTIATE_TEST_SUITE_P(
    Plans, BadAnswerTest,
    ::testing::Values(
        Case{"NoReason", [](SlicePlanSet& a) { a.plans.clear(); },
             "infeasible.reason: empty; expected a reason"},
        Case{"NegativeShortage",
             [](SlicePlanSet& a) {
               a.plans.clear();
               a.infeasible = {.reason = "x", .bytes_short = -1};
             },
             "infeasible.bytes_short: -1"},
        Case{"PlansAndAReason",
             [](SlicePlanSet& a) { a.infeasible = Infeasible{.reason = "x"}; },
             "infeasible: x; expected none"},
        Case{"EndlessReason",
             [](SlicePlanSet& a) {
               a.plans.clear();
               a.infeasible = {.reason = std::string(2000, 'x')};
             },
             "infeasible.reason: 2000 bytes; expected at most 1024"},
        Case{"ReasonThatMovesTheCursor",
             [](SlicePlanSet& a) {
               a.plans.clear();
               a.infeasible = {.reason = "x\x1b[2J"};
             },
             "infeasible.reason: \"x\\x1b[2J\"; expected no control"},
        Case{"ReasonThatTurnsTheText",
             [](SlicePlanSet& a) {
               a.plans.clear();
               a.infeasible = {.reason = "x\u202E\u009B"};
             },
             "infeasible.reason: \"x\\xe2\\x80\\xae\\xc2\\x9b\"; expected no"},
        Case{"EndlessShortage",
             [](SlicePlanSet& a) {
               a.plans.clear();
               a.infeasible = {.reason = "x", .bytes_short = 1e300};
             },
             "infeasible.bytes_short: 1e+300; expected from 0 to"},
        Case{"TooManySteps",
             [](SlicePlanSet& a) { a.search_steps = int64_t{1} << 60; },
             "search_steps: 1152921504606846976; expected from 0 to"},
        Case{"CoversMoreThanAny",
             [](SlicePlanSet& a) {
               a.covers_trailing_stages = kUnlimitedTrailingStages + 1;
             },
             "covers_trailing_stages: 1048577; expected from 0 to 1048576"},
        Case{"BearsMoreThanAny",
             [](SlicePlanSet& a) {
               a.plans[0].max_trailing_stages = kUnlimitedTrailingStages + 1;
             },
             "max_trailing_stages: 1048577; expected at most 1048576"},
        Case{"TooManyPlans",
             [](SlicePlanSet& a) { a.plans.resize(5000, a.plans[0]); },
             "plans: 5000; expected from 0 to 4096"},
        Case{"MoreStagesThanGpus",
             [](SlicePlanSet& a) {
               a.plans[0].stages.resize(17, a.plans[0].stages[0]);
             },
             "plans[0].stages: 17; expected at most 16"},
        Case{"NegativeSteps", [](SlicePlanSet& a) { a.search_steps = -1; },
             "search_steps"},
        Case{"Anonymous", [](SlicePlanSet& a) { a.plans[0].made_by.clear(); },
             "plans[0].made_by: empty"},
        Case{"TooFewTrailing",
             [](SlicePlanSet& a) { a.plans[0].max_trailing_stages = 2; },
             "plans[0].max_trailing_stages: 2; expected at least what was "
             "asked, 3"},
        Case{"NoStages", [](SlicePlanSet& a) { a.plans[0].stages.clear(); },
             "plans[0].stages: none; expected at least one"},
        Case{"LastStageMissing",
             [](SlicePlanSet& a) { a.plans[0].stages.pop_back(); },
             "plans[0].stages[1].plan.end: layer 3 operator 5; expected layer "
             "6"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Stages, BadAnswerTest,
    ::testing::Values(
        Case{"Gap",
             [](SlicePlanSet& a) {
               Stage(a, 2).begin = {4, 0};
             },
             "plans[0].stages[2].plan.begin: layer 4; expected layer 3 "
             "operator 5"},
        Case{"EmptyStage",
             [](SlicePlanSet& a) {
               Stage(a, 1).end = {2, 0};
             },
             "plans[0].stages[1].plan.end: layer 2; expected"},
        Case{"NoSuchOperator",
             [](SlicePlanSet& a) {
               Stage(a, 1).end = {3, 10};  // A dense layer has 10: 0 to 9.
             },
             "plans[0].stages[1].plan.end: layer 3 operator 10; expected"},
        Case{"PastTheEnd",
             [](SlicePlanSet& a) {
               Stage(a, 2).end = {7, 0};
             },
             "plans[0].stages[2].plan.end: layer 7; expected"},
        Case{"NanTime",
             [](SlicePlanSet& a) { a.plans[0].stages[0].time_s = kNan; },
             "stages[0].time_s: nan"},
        Case{"ZeroTime",
             [](SlicePlanSet& a) { a.plans[0].stages[0].time_s = 0; },
             "stages[0].time_s: 0; expected a positive number"},
        Case{"BackwardAboveTime",
             [](SlicePlanSet& a) { a.plans[0].stages[0].backward_s = 4; },
             "stages[0].backward_s: 4; expected from 0 to time_s, 3"},
        Case{"NegativeSync",
             [](SlicePlanSet& a) { a.plans[0].stages[1].sync_s = -1; },
             "stages[1].sync_s: -1"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Parallelism, BadAnswerTest,
    ::testing::Values(
        Case{"ZeroDegree",
             [](SlicePlanSet& a) { Stage(a, 0).parallelism.tp_degree = 0; },
             "stages[0].plan.parallelism.tp_degree: 0; expected a positive"},
        Case{"OverflowingDegrees",
             [](SlicePlanSet& a) {
               Stage(a, 0).parallelism = {.tp_degree = 16, .cp_degree = 16};
             },
             "stages[0].plan.parallelism: tp 16 x cp 16 x dp 1; expected at "
             "most"},
        Case{"ZeroStage",
             [](SlicePlanSet& a) { Stage(a, 0).parallelism.zero_stage = 4; },
             "stages[0].plan.parallelism.zero_stage: 4"},
        Case{"DegreesWhoseProductOverflows",
             [](SlicePlanSet& a) {
               Stage(a, 0).parallelism.dp_degree = 1 << 20;
             },
             "stages[0].plan.parallelism.dp_degree: 1048576; expected a "
             "positive"},
        Case{"ShardedExpertsWithoutExperts",
             [](SlicePlanSet& a) { Stage(a, 0).parallelism.fsep = true; },
             "stages[0].plan.parallelism.fsep: true; expected false"},
        Case{"OffloadBelowZero",
             [](SlicePlanSet& a) { Stage(a, 0).offload.weights = -0.5; },
             "stages[0].plan.offload.weights: -0.5; expected a fraction"},
        Case{"OffloadAboveOne",
             [](SlicePlanSet& a) { Stage(a, 1).offload.activations = 1.5; },
             "stages[1].plan.offload.activations: 1.5; expected a fraction"},
        Case{"OffloadOfNan",
             [](SlicePlanSet& a) { Stage(a, 1).offload.optimizer = kNan; },
             "stages[1].plan.offload.optimizer: nan; expected a fraction"},
        Case{"OffloadOverAnUnknownLink",
             [](SlicePlanSet& a) { Stage(a, 0).offload.gradients = 0.5; },
             "stages[0].plan.offload: given; expected none, as the host link "
             "of the island is not known"},
        Case{"DpDoesNotDivideMicrobatch",
             [](SlicePlanSet& a) {
               Stage(a, 2).parallelism = {.tp_degree = 1, .dp_degree = 8};
             },
             "stages[2].plan.parallelism.dp_degree: 8; expected a divisor of "
             "the pipeline microbatch, 4"},
        Case{"CpDoesNotDivideSequence",
             [](SlicePlanSet& a) {
               Stage(a, 0).parallelism = {.cp_degree = 3};  // 512 tokens.
             },
             "stages[0].plan.parallelism.cp_degree: 3"},
        Case{
            "TpDoesNotDivideHeads",
            [](SlicePlanSet& a) { Stage(a, 0).parallelism = {.tp_degree = 3}; },
            "stages[0].plan.parallelism.tp_degree: 3; expected a divisor of "
            "the number of heads, 16"},
        Case{"EpDoesNotDivideRanks",
             [](SlicePlanSet& a) { Stage(a, 0).parallelism.ep_degree = 4; },
             "stages[0].plan.parallelism.ep_degree: 4; expected a divisor of "
             "cp x dp, 2"},
        Case{"EpWithoutExperts",
             [](SlicePlanSet& a) { Stage(a, 0).parallelism.ep_degree = 2; },
             "stages[0].plan.parallelism.ep_degree: 2; expected 1, as no layer "
             "has experts"},
        Case{"TpYZero",
             [](SlicePlanSet& a) { Stage(a, 0).parallelism.tp_y_degree = 0; },
             "stages[0].plan.parallelism.tp_y_degree: 0; expected a positive"},
        Case{"TpYDoesNotDivideTp",
             [](SlicePlanSet& a) {
               Stage(a, 0).parallelism = {.tp_degree = 2, .tp_y_degree = 4};
             },
             "stages[0].plan.parallelism.tp_y_degree: 4; expected a divisor of "
             "tp_degree, 2"},
        Case{"TpYWithSequenceParallelism",
             [](SlicePlanSet& a) {
               Stage(a, 0).parallelism = {
                   .tp_degree = 2, .sequence_parallel = true, .tp_y_degree = 2};
             },
             "stages[0].plan.parallelism.tp_y_degree: 2; expected 1 with"},
        Case{"MoreGpusThanTheIsland",
             [](SlicePlanSet& a) {
               Stage(a, 2).parallelism = {.tp_degree = 4, .dp_degree = 4};
             },
             "stages[2].plan.parallelism: tp 4 x cp 1 x dp 4; expected at most "
             "the 8"},
        Case{
            "StraddlesNodes",
            [](SlicePlanSet& a) { Stage(a, 0).parallelism = {.tp_degree = 2}; },
            "stages[1].plan.parallelism: 4 GPUs from GPU 2 of a node of 4 on"},
        Case{"PartOfANode",
             [](SlicePlanSet& a) {
               Stage(a, 2).parallelism = {.tp_degree = 2};
               Stage(a, 1).parallelism = {.tp_degree = 2, .dp_degree = 4};
               Stage(a, 0).parallelism = {.tp_degree = 2};
             },
             "stages[1].plan.parallelism: 8 GPUs from GPU 2 of a node of 4 on"},
        Case{"RecomputeTooShort",
             [](SlicePlanSet& a) { Stage(a, 2).recompute.pop_back(); },
             "stages[2].plan.recompute: 1 layers; expected 3"},
        Case{"RecomputeTooLong",
             [](SlicePlanSet& a) { Stage(a, 2).recompute[1].num_layers = 3; },
             "stages[2].plan.recompute[1].num_layers: 3; expected a positive "
             "integer, at most the 2 layers"},
        Case{"MaskOfNoOperator",
             // The embedding has one operator.
             [](SlicePlanSet& a) { Stage(a, 0).recompute[0].mask = 2; },
             "stages[0].plan.recompute[0].mask: 0x2"}),
    [](const auto& test) { return test.param.name; });

TEST(BadAnswerOnALimitedIslandTest, StagesAreWithinTheLimits) {
  const auto check = [](const StageLimits& limits) {
    IslandSpec island = TestIsland(4, 4);
    island.limits = limits;
    return std::string(CheckSlicePlanSet(GoodAnswer(), Slice(), island,
                                         {.training = TestTraining(32),
                                          .pipeline_microbatch_size = 4,
                                          .trailing_stages = 3})
                           .message());
  };
  EXPECT_THAT(
      check({.tp_degree = 2}),
      HasSubstr("plans[0].stages[1].plan.parallelism: tp 4, expected 2"));
  EXPECT_THAT(check({.max_stages = 2}),
              HasSubstr("plans[0].stages: 3; expected at most 2"));
  EXPECT_EQ(check({.max_stages = 3}), "");
}

TEST(BadMoeAnswerTest, EpMustDivideTheExperts) {
  const ModelSlice slice = MakeSlice({0, 1}, {TestMoeModel(1).layers[1]});
  SlicePlanSet answer{
      .plans = {{.stages = {{.plan = {.end = {1, 0},
                                      .parallelism = {.dp_degree = 16,
                                                      .ep_degree = 16},
                                      .recompute = {{.num_layers = 1}}},
                             .time_s = 1}},
                 .made_by = "test"}}};
  const ParallelizeOptions options{.training = TestTraining(32),
                                   .pipeline_microbatch_size = 16};

  const absl::Status status =
      CheckSlicePlanSet(answer, slice, TestIsland(2, 8), options);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("ep_degree: 16; expected a divisor of the number of "
                        "experts, 8"));

  answer.plans[0].stages[0].plan.parallelism.ep_degree = 8;
  EXPECT_THAT(CheckSlicePlanSet(answer, slice, TestIsland(2, 8), options),
              IsOk());

  answer.plans[0].stages[0].plan.parallelism = {.tp_degree = 4,
                                                .tp_y_degree = 2};
  EXPECT_THAT(
      std::string(CheckSlicePlanSet(answer, slice, TestIsland(2, 8), options)
                      .message()),
      HasSubstr("tp_y_degree: 2; expected 1, as layer 0 has experts"));
}

// A slice plan of the whole model is a pipeline plan on the island's GPUs.
absl::Status CheckAsPipeline(const SlicePlan& plan) {
  PipelinePlan pipeline = {.pipeline_microbatch_size = 4};
  int gpu = 0;
  for (const SliceStage& stage : plan.stages) {
    PlacedStage& placed = pipeline.stages.emplace_back();
    placed.plan = stage.plan;
    for (int i = 0; i < stage.plan.parallelism.num_gpus(); ++i, ++gpu) {
      placed.gpus.push_back({.node = gpu / 4, .index = gpu % 4});
    }
  }
  return ValidatePlan(TestModel(4), TestCluster({{.num_nodes = 4}}),
                      TestTraining(32), pipeline);
}

void Spoil(std::mt19937& random, StagePlan& stage) {
  const auto small = [&] { return 1 + static_cast<int>(random() % 4); };
  StageParallelism& p = stage.parallelism;
  switch (random() % 10) {
    case 0:
      p.tp_degree = small();
      break;
    case 1:
      p.cp_degree = small();
      break;
    case 2:
      p.dp_degree = small();
      break;
    case 3:
      p.ep_degree = small();
      break;
    case 4:
      p.tp_y_degree = small();
      break;
    case 5:
      p.zero_stage = 2 * small() - 3;
      break;
    case 6:
      p.fsep = true;
      break;
    case 7:
      stage.recompute[0].num_layers = small() - 1;
      break;
    case 8:
      stage.recompute[0].mask = OpMask{1} << random() % 12;
      break;
    case 9:
      stage.offload.weights = 0.5 * small() - 0.5;
      break;
  }
}

TEST(CheckSlicePlanSetPropertyTest, StagesAreLegalAsInAPipelinePlan) {
  std::mt19937 random(1);
  int num_legal = 0;
  for (int i = 0; i < 2000; ++i) {
    SlicePlanSet answer = GoodAnswer();
    Spoil(random, Stage(answer, static_cast<int>(random() % 3)));
    const absl::Status as_answer = Check(answer);
    // Only slice plans must fill nodes.
    if (absl::StrContains(as_answer.message(), "whole nodes")) continue;
    const absl::Status as_pipeline = CheckAsPipeline(answer.plans[0]);
    ASSERT_EQ(as_answer.ok(), as_pipeline.ok())
        << as_answer << " | " << as_pipeline;
    num_legal += as_answer.ok() ? 1 : 0;
  }
  EXPECT_GT(num_legal, 300);
}

TEST(CheckAtomsTest, AtomsHoldTheModelInOrder) {
  const ModelSpec model = TestModel(2);
  std::vector<ModelSlice> atoms = SliceByLayer(model);
  EXPECT_THAT(CheckAtoms(atoms, model), IsOk());

  atoms.pop_back();
  EXPECT_THAT(std::string(CheckAtoms(atoms, model).message()),
              HasSubstr("atoms: 3 layers; expected the 4 layers"));
}

// 2^14 atoms of 2^14 layers would take gigabytes.
TEST(CheckAtomsTest, AtomsDoNotHoldMoreLayersThanTheModel) {
  const ModelSpec model = TestModel(2);
  const std::vector<LayerSpec> layers(1 << 14, model.layers[1]);
  const ModelSlice large = MakeSlice({0, 1}, layers);
  EXPECT_THAT(std::string(CheckAtoms({large}, model).message()),
              HasSubstr("16384 layers; expected at most the 4 that are left"));
}

TEST(CheckAtomsTest, AtomsAreNumbered) {
  std::vector<ModelSlice> atoms = SliceByLayer(TestModel(2));
  atoms[1].atoms = {2, 3};

  EXPECT_THAT(std::string(CheckAtoms(atoms, TestModel(2)).message()),
              HasSubstr("atoms[1].atoms: [2, 3); expected [1, 2)"));
}

TEST(CheckProfileTest, FiguresAreFiniteAndNotNegative) {
  EXPECT_THAT(CheckProfile({.min_gpu_seconds = 0, .min_total_bytes = 1}),
              IsOk());
  EXPECT_FALSE(CheckProfile({.min_gpu_seconds = kNan}).ok());
  EXPECT_FALSE(CheckProfile({.min_total_bytes = -1}).ok());
  EXPECT_FALSE(CheckProfile({.min_gpu_seconds = 1e300}).ok());
  EXPECT_FALSE(CheckProfile({.min_total_bytes = 1e300}).ok());
}

// Each technique that an answer uses must be declared.
TEST(CheckFeaturesTest, NamesTheFeatureThatIsNotDeclared) {
  SlicePlanSet answer = GoodAnswer();
  StagePlan& stage = answer.plans[0].stages[1].plan;
  stage.parallelism.cp_degree = 2;
  stage.parallelism.ep_degree = 2;
  stage.parallelism.zero_stage = 1;
  stage.offload.optimizer = 1;
  const ParallelizerFeatures all = {.data_parallel = true,
                                    .pipeline_parallel = true,
                                    .tensor_parallel = true,
                                    .context_parallel = true,
                                    .expert_parallel = true,
                                    .recompute = true,
                                    .offload = true,
                                    .zero = true};
  EXPECT_THAT(CheckFeatures(answer, all, {}), IsOk());
  EXPECT_THAT(CheckFeatures({}, {}, {}), IsOk());
  const std::vector<std::pair<bool ParallelizerFeatures::*, std::string>>
      expected = {
          {&ParallelizerFeatures::data_parallel,
           "plans[0].stages[0].plan: data_parallel; expected only"},
          {&ParallelizerFeatures::pipeline_parallel,
           "plans[0]: pipeline_parallel; expected only"},
          {&ParallelizerFeatures::tensor_parallel, ".plan: tensor_parallel;"},
          {&ParallelizerFeatures::context_parallel,
           "plans[0].stages[1].plan: context_parallel;"},
          {&ParallelizerFeatures::expert_parallel, ".plan: expert_parallel;"},
          {&ParallelizerFeatures::recompute, ".plan: recompute;"},
          {&ParallelizerFeatures::offload, ".plan: offload;"},
          {&ParallelizerFeatures::zero, ".plan: zero;"}};
  for (const auto& [feature, text] : expected) {
    ParallelizerFeatures others = all;
    others.*feature = false;
    EXPECT_THAT(std::string(CheckFeatures(answer, others, {}).message()),
                HasSubstr(text));
  }
}

}  // namespace
}  // namespace tangram
