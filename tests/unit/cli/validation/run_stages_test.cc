#include "cli/validation/run_stages.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/measured_runs.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using testing::GptRun;
using ::testing::HasSubstr;
using testing::kBadInput;
using testing::kCannot;
using ::testing::Pair;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::TestModel;

// All ten operators of a dense layer, and its attention core.
constexpr OpMask kAll = (1 << 10) - 1;
constexpr OpMask kCore = 1 << 2;

// Returns where each stage ends, as layer and operator. Checks that each begins
// where the previous one ends.
std::vector<std::pair<int, int>> EndsOf(const RunStages& stages) {
  std::vector<std::pair<int, int>> ends;
  OperatorCut begin;
  for (const RunStage& stage : stages.stages) {
    EXPECT_EQ(stage.plan.begin, begin);
    begin = stage.plan.end;
    ends.emplace_back(begin.layer, begin.op);
  }
  return ends;
}

// Returns the number of layers that each stage touches, embedding and head
// included.
std::vector<int> LayersOf(const RunStages& stages) {
  std::vector<int> layers;
  for (const RunStage& stage : stages.stages) {
    layers.push_back(LayersTouched(stage.plan.begin, stage.plan.end));
  }
  return layers;
}

MeasuredRun PipelineOf(int num_stages) {
  MeasuredRun run = GptRun();
  run.pp_degree = num_stages;
  return run;
}

// A run whose per-stage plan is `json`.
MeasuredRun PlannedRun(const std::string& json) {
  MeasuredRun run = GptRun();
  run.tp_degree = run.pp_degree = run.dp_degree = 0;
  run.plan_json = json;
  return run;
}

TEST(EvenStagesTest, LayersAreCutEvenly) {
  ASSERT_OK_AND_ASSIGN(const RunStages stages,
                       StagesOfRun(PipelineOf(4), TestModel(8)));

  // Two layers each; the embedding and the head are extra.
  EXPECT_THAT(EndsOf(stages),
              ElementsAre(Pair(3, 0), Pair(5, 0), Pair(7, 0), Pair(10, 0)));
  EXPECT_EQ(stages.virtual_stages, 1);
}

TEST(EvenStagesTest, DegreesAndMicrobatchAreTheRows) {
  MeasuredRun run = PipelineOf(2);
  run.cp_degree = 3;
  run.ep_degree = 2;
  run.framework = "Megatron-Core";
  ASSERT_OK_AND_ASSIGN(const RunStages stages, StagesOfRun(run, TestModel(8)));

  const StageParallelism want = {.tp_degree = 2,
                                 .cp_degree = 3,
                                 .dp_degree = 2,
                                 .ep_degree = 2,
                                 .zero_stage = 1,
                                 .sequence_parallel = true};
  EXPECT_EQ(stages.stages[0].plan.parallelism, want);
  EXPECT_EQ(stages.stages[1].plan.parallelism, want);
  EXPECT_EQ(stages.pipeline_microbatch_size, 4);  // 2 sequences · 2 replicas.
}

TEST(EvenStagesTest, TheEndsCountAsLayersWhereThenAllAreEqual) {
  ASSERT_OK_AND_ASSIGN(const RunStages stages,
                       StagesOfRun(PipelineOf(4), TestModel(10)));

  // 10 + 2 layers in 4 stages of 3.
  EXPECT_THAT(LayersOf(stages), ElementsAre(3, 3, 3, 3));
}

TEST(EvenStagesTest, OtherwiseTheMiddleTakesTheRest) {
  ASSERT_OK_AND_ASSIGN(const RunStages stages,
                       StagesOfRun(PipelineOf(4), TestModel(9)));

  // 2 layers each and one more on the second stage, + embedding, + head.
  EXPECT_THAT(LayersOf(stages), ElementsAre(3, 3, 2, 3));
}

TEST(EvenStagesTest, MegatronDeepSpeedFillsTheFirstStages) {
  MeasuredRun run = PipelineOf(4);
  run.framework = "Megatron-DeepSpeed";
  ASSERT_OK_AND_ASSIGN(const RunStages stages, StagesOfRun(run, TestModel(13)));

  // ceil(13 / 4) = 4, 4, 4 and the rest, 1; + embedding, + head.
  EXPECT_THAT(LayersOf(stages), ElementsAre(5, 4, 4, 2));
}

TEST(EvenStagesTest, AStageMayHoldOnlyAnEnd) {
  ASSERT_OK_AND_ASSIGN(const RunStages stages,
                       StagesOfRun(PipelineOf(4), TestModel(2)));

  EXPECT_THAT(LayersOf(stages), ElementsAre(1, 1, 1, 1));
}

TEST(EvenStagesTest, ChunksAreStages) {
  MeasuredRun run = PipelineOf(2);
  run.virtual_stages = 4;
  ASSERT_OK_AND_ASSIGN(const RunStages stages, StagesOfRun(run, TestModel(16)));

  EXPECT_EQ(stages.virtual_stages, 4);
  EXPECT_THAT(LayersOf(stages), ElementsAre(3, 2, 2, 2, 2, 2, 2, 3));
}

TEST(EvenStagesTest, OneStageHasNoChunks) {
  MeasuredRun run = PipelineOf(1);
  run.virtual_stages = 4;
  ASSERT_OK_AND_ASSIGN(const RunStages stages, StagesOfRun(run, TestModel(8)));

  EXPECT_THAT(LayersOf(stages), ElementsAre(10));
  EXPECT_EQ(stages.virtual_stages, 1);
}

TEST(EvenStagesTest, ThereAreNotMoreStagesThanLayers) {
  EXPECT_THAT(StagesOfRun(PipelineOf(5), TestModel(2)),
              StatusIs(kBadInput, HasSubstr("pp: 5 chunks; expected at most "
                                            "4")));
}

TEST(EvenStagesTest, RowsMustSayHowTheModelIsSplit) {
  MeasuredRun run = GptRun();
  run.tp_degree = 0;
  EXPECT_THAT(StagesOfRun(run, TestModel(8)),
              StatusIs(kCannot, HasSubstr("tp, pp: ")));
  run = GptRun();
  run.pp_degree = 0;
  EXPECT_THAT(StagesOfRun(run, TestModel(8)),
              StatusIs(kCannot, HasSubstr("tp, pp: ")));
  run = GptRun();
  run.microbatch_size = 0;
  EXPECT_THAT(StagesOfRun(run, TestModel(8)),
              StatusIs(kCannot, HasSubstr("mbs: ")));
}

TEST(EvenStagesTest, AMicrobatchOfAllReplicasIsPartOfTheBatch) {
  MeasuredRun run = GptRun();
  run.microbatch_size = 2'000'000'000;
  EXPECT_THAT(StagesOfRun(run, TestModel(8)),
              StatusIs(kBadInput,
                       "mbs: 2000000000 on 2 replicas; expected at "
                       "most gbs, 32"));
}

TEST(RecomputeTest, IsOfTransformerLayersOnly) {
  MeasuredRun run = PipelineOf(1);
  run.recompute = "full (LlamaDecoderLayer)";
  ASSERT_OK_AND_ASSIGN(const RunStages stages, StagesOfRun(run, TestModel(8)));

  EXPECT_THAT(stages.stages[0].plan.recompute,
              ElementsAre(RecomputeRun{1, 0}, RecomputeRun{8, kAll},
                          RecomputeRun{1, 0}));
}

TEST(RecomputeTest, MayBeSelective) {
  MeasuredRun run = PipelineOf(2);
  run.recompute = "selective";
  ASSERT_OK_AND_ASSIGN(const RunStages stages, StagesOfRun(run, TestModel(8)));

  EXPECT_THAT(stages.stages[0].plan.recompute,
              ElementsAre(RecomputeRun{1, 0}, RecomputeRun{4, kCore}));
  EXPECT_THAT(stages.stages[1].plan.recompute,
              ElementsAre(RecomputeRun{4, kCore}, RecomputeRun{1, 0}));
}

TEST(RecomputeTest, IsNoneWhereTheRowSaysSoOrNothing) {
  for (const char* text : {"", "none"}) {
    MeasuredRun run = PipelineOf(1);
    run.recompute = text;
    ASSERT_OK_AND_ASSIGN(const RunStages stages,
                         StagesOfRun(run, TestModel(8)));
    EXPECT_THAT(stages.stages[0].plan.recompute,
                ElementsAre(RecomputeRun{10, 0}));
  }
}

TEST(ZeroTest, StagesAreReadFromTexts) {
  for (const auto& [text, stage] :
       {std::pair("0", 0), std::pair("none", 0),
        std::pair("1 (distributed optimizer)", 1), std::pair("2", 2),
        std::pair("3", 3), std::pair("FSDP group 64", 3),
        std::pair("FSDP (optimizer+grad sharded)", 2)}) {
    SCOPED_TRACE(text);
    MeasuredRun run = GptRun();
    run.zero = text;
    ASSERT_OK_AND_ASSIGN(const RunStages stages,
                         StagesOfRun(run, TestModel(8)));
    EXPECT_EQ(stages.stages[0].plan.parallelism.zero_stage, stage);
  }
}

TEST(ZeroTest, IsTheFrameworksHabitWhereUnsaid) {
  MeasuredRun run = GptRun();
  run.framework = "Composer FSDP";
  ASSERT_OK_AND_ASSIGN(const RunStages stages, StagesOfRun(run, TestModel(8)));

  EXPECT_EQ(stages.stages[0].plan.parallelism.zero_stage, 3);
}

TEST(SequenceParallelTest, NeedsTensorParallelism) {
  MeasuredRun run = GptRun();
  run.sequence_parallel = true;
  ASSERT_OK_AND_ASSIGN(const RunStages split, StagesOfRun(run, TestModel(8)));
  run.tp_degree = 1;
  ASSERT_OK_AND_ASSIGN(const RunStages whole, StagesOfRun(run, TestModel(8)));

  EXPECT_TRUE(split.stages[0].plan.parallelism.sequence_parallel);
  EXPECT_FALSE(whole.stages[0].plan.parallelism.sequence_parallel);
}

// [to fp16, embedding, transpose], 8 layers, [transpose, norm, head].
TEST(DeepSpeedStagesTest, ConversionsCountAsLayers) {
  MeasuredRun run = PlannedRun(R"({"pipe_layer_boundaries": [0, 5, 11, 14]})");
  run.tp_degree = run.dp_degree = 2;
  ASSERT_OK_AND_ASSIGN(const RunStages stages, StagesOfRun(run, TestModel(8)));

  // 3 transformer layers precede pipe layer 5, and all 8 precede 11.
  EXPECT_THAT(EndsOf(stages), ElementsAre(Pair(4, 0), Pair(9, 0), Pair(10, 0)));
  EXPECT_EQ(stages.stages[1].plan.parallelism.tp_degree, 2);
}

TEST(DeepSpeedStagesTest, TheEmbeddingIsTheFirstLayerAndTheHeadTheLastButOne) {
  ASSERT_OK_AND_ASSIGN(
      const RunStages stages,
      StagesOfRun(PlannedRun(R"({"pipe_layer_boundaries": [0, 1, 9, 14]})"),
                  TestModel(8)));

  // The last stage has a transformer layer and the head.
  EXPECT_THAT(LayersOf(stages), ElementsAre(1, 7, 2));
}

TEST(DeepSpeedStagesTest, EachStageHoldsALayer) {
  EXPECT_THAT(
      StagesOfRun(PlannedRun(R"({"pipe_layer_boundaries": [0, 1, 2, 14]})"),
                  TestModel(8)),
      StatusIs(kCannot, "plan_json: stage 1 holds no layer"));
}

TEST(DeepSpeedStagesTest, RanksTakeTheNodesInOrder) {
  MeasuredRun run = PlannedRun(
      R"({"pipe_layer_boundaries": [0, 7, 14],
          "nodes": [{"gpu": "V100-16", "gpus": 3}, {"gpu": "T4", "gpus": 1}]})");
  run.dp_degree = 2;
  ASSERT_OK_AND_ASSIGN(const RunStages stages, StagesOfRun(run, TestModel(8)));

  ASSERT_THAT(stages.stages, SizeIs(2));
  ASSERT_THAT(stages.stages[1].ranks, SizeIs(2));
  EXPECT_EQ(stages.stages[0].ranks[1].gpu, "V100-16");
  EXPECT_EQ(stages.stages[1].ranks[0].gpu, "V100-16");
  EXPECT_EQ(stages.stages[1].ranks[1].gpu, "T4");
  EXPECT_EQ(stages.stages[1].ranks[1].count, 1);
}

TEST(DeepSpeedStagesTest, NodesHaveAsManyGpusAsTheStagesUse) {
  MeasuredRun run = PlannedRun(
      R"({"pipe_layer_boundaries": [0, 7, 14],
          "nodes": [{"gpu": "T4", "gpus": 3}]})");
  run.dp_degree = 2;
  EXPECT_THAT(StagesOfRun(run, TestModel(8)),
              StatusIs(kBadInput, "plan_json: fewer GPUs than the stages use"));
}

TEST(SailorStagesTest, StagesAreListsOfReplicas) {
  ASSERT_OK_AND_ASSIGN(const RunStages stages,
                       StagesOfRun(PlannedRun(R"({"stages": [
          {"layers": 6, "replicas": [{"gpu": "GH-96", "tp": 4},
                                     {"gpu": "T4", "tp": 4}]},
          {"layers": 4, "replicas": [{"gpu": "T4", "tp": 2},
                                     {"gpu": "T4", "tp": 2}]}]})"),
                                   TestModel(8)));

  // The layers include embedding and head.
  EXPECT_THAT(EndsOf(stages), ElementsAre(Pair(6, 0), Pair(10, 0)));
  const RunStage& first = stages.stages[0];
  EXPECT_EQ(first.plan.parallelism.tp_degree, 4);
  EXPECT_EQ(first.plan.parallelism.dp_degree, 2);
  ASSERT_THAT(first.ranks, SizeIs(2));
  EXPECT_EQ(first.ranks[1].gpu, "T4");
  EXPECT_EQ(first.ranks[1].count, 4);
  EXPECT_EQ(stages.stages[1].plan.parallelism.tp_degree, 2);
  EXPECT_EQ(stages.pipeline_microbatch_size, 4);  // 2 sequences · 2 replicas.
}

TEST(SailorStagesTest, ReplicasOfAStageAreCutAlike) {
  EXPECT_THAT(StagesOfRun(PlannedRun(R"({"stages": [
          {"layers": 10, "replicas": [{"gpu": "T4", "tp": 4},
                                      {"gpu": "T4", "tp": 2}]}]})"),
                          TestModel(8)),
              StatusIs(kCannot, HasSubstr("different tp")));
}

TEST(SailorStagesTest, ContradictionsAreBadInput) {
  EXPECT_THAT(StagesOfRun(PlannedRun(R"({"stages": [
          {"layers": 11, "replicas": [{"gpu": "T4", "tp": 1}]}]})"),
                          TestModel(8)),
              StatusIs(kBadInput, "plan_json: more layers than the model has"));
  EXPECT_THAT(
      StagesOfRun(PlannedRun(R"({"stages": [{"layers": 10, "replicas": []}]})"),
                  TestModel(8)),
      StatusIs(kBadInput, "plan_json: a stage without replicas"));
}

// Aceso counts one operator of the embedding, 13 of each layer, two of the
// head.
TEST(AcesoStagesTest, OperatorsAreCutWhereOursAre) {
  ASSERT_OK_AND_ASSIGN(const RunStages stages,
                       StagesOfRun(PlannedRun(R"({"stages": [
              {"ops": 1, "tp": [1], "dp": [2], "recompute_ops_frac": 0},
              {"ops": 13, "tp": [1], "dp": [2], "recompute_ops_frac": 0},
              {"ops": 8, "tp": [2], "dp": [1], "recompute_ops_frac": 0},
              {"ops": 19, "tp": [1], "dp": [2], "recompute_ops_frac": 0},
              {"ops": 1, "tp": [1], "dp": [2], "recompute_ops_frac": 0}]})"),
                                   TestModel(3)));

  // 1 ends after the embedding, 14 after layer 1. 22 ends before operator 8 of
  // layer 2, the second norm, our 5. 41 = 1 + 39 + 1 ends after the final norm.
  EXPECT_THAT(EndsOf(stages), ElementsAre(Pair(1, 0), Pair(2, 0), Pair(2, 5),
                                          Pair(4, 1), Pair(5, 0)));
  EXPECT_EQ(stages.stages[2].plan.parallelism.tp_degree, 2);
  EXPECT_EQ(stages.stages[2].plan.parallelism.dp_degree, 1);
}

// Score, softmax, dropout and context are one operator of ours.
TEST(AcesoStagesTest, CutsInsideTheAttentionCoreGoToItsNearerEnd) {
  const auto end_after = [](int ops) {
    const std::string json = absl::StrCat(
        R"({"stages": [{"tp": [1], "dp": [2], "recompute_ops_frac": 0, "ops": )",
        ops, "}]}");
    const auto stages = StagesOfRun(PlannedRun(json), TestModel(3));
    EXPECT_THAT(stages, testing::IsOk());
    return stages->stages[0].plan.end;
  };

  // 1 of the embedding, then norm and QKV: the cut is before the score, our 2.
  EXPECT_EQ(end_after(3), (OperatorCut{1, 2}));
  EXPECT_EQ(end_after(4), (OperatorCut{1, 2}));
  EXPECT_EQ(end_after(5), (OperatorCut{1, 3}));
  EXPECT_EQ(end_after(6), (OperatorCut{1, 3}));
  EXPECT_EQ(end_after(7), (OperatorCut{1, 3}));
  EXPECT_EQ(end_after(8), (OperatorCut{1, 4}));
}

TEST(AcesoStagesTest, RecomputesFirstWhatKeepsMost) {
  ASSERT_OK_AND_ASSIGN(const RunStages stages,
                       StagesOfRun(PlannedRun(R"({"stages": [
          {"ops": 107, "tp": [1], "dp": [2], "recompute_ops_frac": 0.32}]})"),
                                   TestModel(8)));

  // round(0.32 · (1 + 8 · 13 + 2) operators) = 34: the core of 8 layers, with
  // four operators each, and one product with the activation after it.
  constexpr OpMask kUpAndActivation = 1 << 6 | 1 << 7;
  EXPECT_THAT(
      stages.stages[0].plan.recompute,
      ElementsAre(RecomputeRun{1, 0}, RecomputeRun{1, kCore | kUpAndActivation},
                  RecomputeRun{7, kCore}, RecomputeRun{1, 0}));
}

// Dropout keeps more than the softmax before it, so dropout and context of a
// core come first. They count as 0.6 of a core.
TEST(AcesoStagesTest, HalfRecomputedCoresCountByWhatTheyKeep) {
  ASSERT_OK_AND_ASSIGN(const RunStages stages,
                       StagesOfRun(PlannedRun(R"({"stages": [
          {"ops": 107, "tp": [1], "dp": [2], "recompute_ops_frac": 0.093}]})"),
                                   TestModel(8)));

  // round(0.093 · 107) = 10: dropout and context of 5 layers, as 3 cores. The
  // sums 0.5, 1.1, 0.7, 1.3 and 0.9 + 0.6 reach one in layers 1, 3 and 5.
  EXPECT_THAT(stages.stages[0].plan.recompute,
              ElementsAre(RecomputeRun{1, 0}, RecomputeRun{1, kCore},
                          RecomputeRun{1, 0}, RecomputeRun{1, kCore},
                          RecomputeRun{1, 0}, RecomputeRun{1, kCore},
                          RecomputeRun{4, 0}));
}

TEST(AcesoStagesTest, MemoryIsOfTheStagesThatHaveIt) {
  ASSERT_OK_AND_ASSIGN(const RunStages stages,
                       StagesOfRun(PlannedRun(R"({"stages": [
          {"ops": 53, "tp": [1], "dp": [2], "recompute_ops_frac": 0,
           "max_reserved_mib": 1000},
          {"ops": 54, "tp": [1], "dp": [2], "recompute_ops_frac": 0,
           "max_reserved_mib": null}]})"),
                                   TestModel(8)));

  EXPECT_TRUE(stages.stages[0].memory_measured);
  EXPECT_FALSE(stages.stages[1].memory_measured);
}

TEST(AcesoStagesTest, AStageHasOneDegreeOfEachKind) {
  EXPECT_THAT(StagesOfRun(PlannedRun(R"({"stages": [
          {"ops": 107, "tp": [1, 2], "dp": [2], "recompute_ops_frac": 0}]})"),
                          TestModel(8)),
              StatusIs(kCannot, HasSubstr("several tp degrees in one stage")));
}

TEST(MistStagesTest, LayersAreCountedWithoutTheEnds) {
  ASSERT_OK_AND_ASSIGN(const RunStages stages,
                       StagesOfRun(PlannedRun(R"({"stages": [
          {"layers": 3, "tp": 2, "dp": 1, "ckpt_layers": 1,
           "offload_w_g_o_a": [0, 0, 0, 0]},
          {"layers": 5, "tp": 1, "dp": 2, "ckpt_layers": 0}]})"),
                                   TestModel(8)));

  EXPECT_THAT(EndsOf(stages), ElementsAre(Pair(4, 0), Pair(10, 0)));
  EXPECT_EQ(stages.stages[0].plan.parallelism.tp_degree, 2);
  EXPECT_EQ(stages.stages[1].plan.parallelism.dp_degree, 2);
  EXPECT_THAT(stages.stages[0].plan.recompute,
              ElementsAre(RecomputeRun{1, 0}, RecomputeRun{1, kAll},
                          RecomputeRun{2, 0}));
  EXPECT_THAT(stages.stages[1].plan.recompute, ElementsAre(RecomputeRun{6, 0}));
}

TEST(MistStagesTest, EachStageOffloadsItsFractions) {
  ASSERT_OK_AND_ASSIGN(const RunStages stages,
                       StagesOfRun(PlannedRun(R"({"stages": [
          {"layers": 4, "tp": 1, "dp": 1, "ckpt_layers": 0},
          {"layers": 4, "tp": 1, "dp": 1, "ckpt_layers": 0,
           "offload_w_g_o_a": [0.25, 0.375, 0.5, 1]}]})"),
                                   TestModel(8)));
  EXPECT_TRUE(stages.stages[0].plan.offload.none());
  EXPECT_EQ(stages.stages[1].plan.offload, (HostOffload{.weights = 0.25,
                                                        .gradients = 0.375,
                                                        .optimizer = 0.5,
                                                        .activations = 1}));
}

TEST(MistStagesTest, OffloadHasFourFractions) {
  for (const char* list : {"[0, 0, 0.5]", "[0, 0, 0, 0, 0]", "[0, 0, 0, 2]"}) {
    EXPECT_THAT(
        StagesOfRun(PlannedRun(std::string(R"({"stages": [{"layers": 8, "tp": 1,
              "dp": 1, "ckpt_layers": 0, "offload_w_g_o_a": )") +
                               list + "}]}"),
                    TestModel(8)),
        StatusIs(kBadInput, HasSubstr("offload_w_g_o_a")));
  }
}

TEST(PlanJsonTest, MustBeReadable) {
  EXPECT_THAT(StagesOfRun(PlannedRun("{\"stages\": "), TestModel(8)),
              StatusIs(kBadInput, HasSubstr("plan_json")));
  EXPECT_THAT(StagesOfRun(PlannedRun(R"({"stages": []})"), TestModel(8)),
              StatusIs(kBadInput, "plan_json: no stages"));
  EXPECT_THAT(
      StagesOfRun(PlannedRun(R"({"stages": [{"tp": 1}]})"), TestModel(8)),
      StatusIs(kBadInput, HasSubstr("stages[0]")));
}

TEST(PlanJsonTest, OtherFormsLeaveTheSplitToTheDegrees) {
  MeasuredRun run = PipelineOf(2);
  run.plan_json = R"({"searched_by": "hand"})";
  ASSERT_OK_AND_ASSIGN(const RunStages stages, StagesOfRun(run, TestModel(8)));

  EXPECT_THAT(LayersOf(stages), ElementsAre(5, 5));
}

}  // namespace
}  // namespace tangram
