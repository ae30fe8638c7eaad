#include <gmock/gmock.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "frameworks/export_plan.h"
#include "nlohmann/json.hpp"
#include "tests/unit/frameworks/two_islands.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using testing::ContentOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::NodeGpus;
using ::testing::Not;
using testing::OneDp;
using testing::StageOn;
using testing::StatusIs;
using testing::TwoIslands;

absl::StatusOr<FrameworkExport> ExportAceso(const PlannedTraining& planned) {
  return ExportPlan("aceso", planned);
}

absl::Status AcesoRefusal(const PlannedTraining& planned) {
  return ExportAceso(planned).status();
}

nlohmann::json ConfigOf(const FrameworkExport& exported) {
  return nlohmann::json::parse(ContentOf(exported, "flexpipe.json"));
}

std::vector<GpuId> V100s(int count) { return NodeGpus(2, count); }

TEST(ExportAcesoTest, HoldsTwoIslandsWithoutLoss) {
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported, ExportAceso(OneDp()));
  EXPECT_THAT(exported.losses, IsEmpty());
  const nlohmann::json config = ConfigOf(exported);
  EXPECT_EQ(config["num_layers"], 32);
  EXPECT_EQ(config["micro_batch_size"], 4);  // All replicas together.
  EXPECT_EQ(config["global_batch_size"], 128);
  EXPECT_EQ(config["num_gpus"], nlohmann::json({8, 8}));
  // 13 operators a layer, one before, two after: 1 + 12 x 13, 20 x 13 + 2.
  EXPECT_EQ(config["num_ops_in_each_stage"], nlohmann::json({157, 262}));
  EXPECT_EQ(config["checkpoint_activations"], nlohmann::json({true, false}));
  EXPECT_EQ(config["model_parallel_size_of_each_op"][1][261], 4);
  EXPECT_EQ(config["data_parallel_size_of_each_op"][0].size(), 157);
  EXPECT_EQ(config["recompute_ops"][0][0], 0);  // The embedding.
  EXPECT_EQ(config["recompute_ops"][0][156], 1);
}

TEST(ExportAcesoTest, CutsHalfLayersAndRecomputesClosedSegments) {
  PlannedTraining planned = OneDp();
  // The attention of layer 13, 8 of their operators, moves to the first stage.
  // QKV and the core (1 + 4) are recomputed.
  planned.plan.stages[0].plan.end = {13, 5};
  planned.plan.stages[0].plan.recompute.push_back({1, 0b110});
  planned.plan.stages[1].plan.begin = {13, 5};
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported, ExportAceso(planned));
  EXPECT_THAT(exported.losses, IsEmpty());
  const nlohmann::json config = ConfigOf(exported);
  EXPECT_EQ(config["num_ops_in_each_stage"], nlohmann::json({165, 254}));
  const nlohmann::json recomputed = config["recompute_ops"][0];
  EXPECT_EQ((std::vector<int>(recomputed.end() - 8, recomputed.end())),
            (std::vector<int>{0, 1, 1, 1, 1, 1, 0, 0}));
}

// Gradients of what skips a border or leaves a segment would be lost: the cut
// moves to the norm of the MLP, and the core is recomputed with QKV.
TEST(ExportAcesoTest, MovesCutsToResidualsAndClosesSegments) {
  PlannedTraining planned = OneDp();
  planned.plan.stages[0].plan.end = {13, 3};
  planned.plan.stages[0].plan.recompute.push_back({1, 0b010});
  planned.plan.stages[1].plan.begin = {13, 3};
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported, ExportAceso(planned));
  EXPECT_THAT(
      exported.losses,
      ElementsAre(HasSubstr("stages[0].plan.recompute: 13 of 14 layers"),
                  "stages[1].plan.begin: operator 3 of layer 13; becomes "
                  "operator 5 of layer 13"));
  const nlohmann::json config = ConfigOf(exported);
  EXPECT_EQ(config["num_ops_in_each_stage"], nlohmann::json({165, 254}));
  const nlohmann::json recomputed = config["recompute_ops"][0];
  EXPECT_EQ((std::vector<int>(recomputed.end() - 8, recomputed.end())),
            (std::vector<int>{0, 1, 1, 1, 1, 1, 0, 0}));
}

// 51,200 words are made exactly: padded to a multiple of 4 ranks x 12,800.
TEST(ExportAcesoTest, NamesSyntheticDataAndAnotherVocabulary) {
  PlannedTraining planned = OneDp();
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exact, ExportAceso(planned));
  ASSERT_EQ(planned.model.layers.front().vocab_size, 51200);
  EXPECT_THAT(exact.framework_losses,
              ElementsAre(HasSubstr("data: yours; becomes synthetic")));
  EXPECT_THAT(ContentOf(exact, "launch.sh"),
              HasSubstr("--make-vocab-size-divisible-by 12800"));
  planned.model.layers.front().vocab_size = 32000;
  planned.model.layers.back().vocab_size = 32000;
  ASSERT_OK_AND_ASSIGN(const FrameworkExport padded, ExportAceso(planned));
  // 50,257 padded to a multiple of 4 x 128.
  EXPECT_THAT(padded.framework_losses,
              ElementsAre(HasSubstr("data: "),
                          "model.vocab_size: 32000; becomes 50688, GPT-2's "
                          "50257 padded"));
}

TEST(ExportAcesoTest, LosesWhatMegatronAddedLater) {
  PlannedTraining planned = OneDp();
  planned.training.precision = Precision::kBf16;
  planned.plan.stages[0].plan.parallelism.sequence_parallel = true;
  planned.plan.stages[1].plan.parallelism.zero_stage = 1;
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported, ExportAceso(planned));
  EXPECT_THAT(
      exported.losses,
      ElementsAre(
          "training.fp32_gradients: false; becomes true",
          "stages[0].plan.parallelism.sequence_parallel: true; becomes false",
          "stages[1].plan.parallelism.zero_stage: 1; becomes 0"));
}

// Its sums in fp32 keep the shared embedding's gradients of all iterations, and
// the optimizer moves it twice in one stage.
TEST(ExportAcesoTest, RefusesPrecisionsThatTrainASharedEmbeddingWrongly) {
  PlannedTraining planned = OneDp();
  planned.model.layers.back().tied_embeddings = true;
  planned.training.precision = Precision::kBf16;
  EXPECT_THAT(ExportAceso(planned).status().message(),
              HasSubstr("training.precision: bf16 with tied embeddings"));
  planned.training.precision = Precision::kFp16;
  planned.training.fp32_gradients = true;
  ASSERT_OK_AND_ASSIGN(const FrameworkExport fp16, ExportAceso(planned));
  EXPECT_THAT(fp16.losses,
              ElementsAre("training.fp32_gradients: true; becomes false"));
  planned.training.precision = Precision::kFp32;
  EXPECT_THAT(ExportAceso(planned), IsOk());
  planned.plan.stages.pop_back();
  planned.plan.stages[0].plan.end = {34, 0};
  planned.plan.stages[0].plan.recompute = {{34, 0}};
  EXPECT_THAT(ExportAceso(planned).status().message(),
              HasSubstr("stages: 1 stage in fp32 with tied embeddings"));
}

// FlexPipe's norm is larger by the root of dp.
TEST(ExportAcesoTest, ClipsAsOneReplicaDoes) {
  PlannedTraining planned = OneDp();
  const int dp = planned.plan.stages[0].plan.parallelism.dp_degree;
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported, ExportAceso(planned));
  EXPECT_THAT(ContentOf(exported, "launch.sh"),
              HasSubstr(absl::StrCat("--clip-grad ", std::sqrt(dp), " ")));
}

TEST(ExportAcesoTest, TellsTheRuntimeThatEmbeddingsAreNotShared) {
  PlannedTraining planned = OneDp();
  ASSERT_OK_AND_ASSIGN(const FrameworkExport untied, ExportAceso(planned));
  EXPECT_THAT(ContentOf(untied, "launch.sh"),
              AllOf(HasSubstr("export ENABLE_WEIGHT_SHARE=0\n"),
                    HasSubstr("--ffn-hidden-size 16384"), HasSubstr("--fp16")));
  planned.model.layers.back().tied_embeddings = true;
  ASSERT_OK_AND_ASSIGN(const FrameworkExport tied, ExportAceso(planned));
  EXPECT_THAT(ContentOf(tied, "launch.sh"),
              Not(HasSubstr("ENABLE_WEIGHT_SHARE")));
}

TEST(ExportAcesoTest, RefusesTensorDegreesThatDoNotDivide) {
  PlannedTraining planned = OneDp();
  planned.training.global_batch_size = 120;
  planned.model = testing::TestModel(32, 768);  // 12 heads.
  for (LayerSpec& layer : planned.model.layers) {
    layer.norm_bias = layer.linear_bias = layer.kind == LayerKind::kTransformer;
  }
  planned.model.layers.front().max_position_embeddings = 2048;
  planned.plan.stages = {StageOn(0, 13, {.tp_degree = 4}, NodeGpus(0, 4)),
                         StageOn(13, 25, {.tp_degree = 3}, NodeGpus(2, 3)),
                         StageOn(25, 34, {.dp_degree = 1}, NodeGpus(2, 1, 3))};
  EXPECT_THAT(AcesoRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("stages[1].plan.parallelism.tp_degree: 3; "
                                 "expected a divisor or multiple of the 4")));
}

// A stage divides its gradients by its own dp, the loss by the last stage's.
TEST(ExportAcesoTest, RefusesUnlikeDp) {
  EXPECT_THAT(
      AcesoRefusal(TwoIslands()),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("stages[1].plan.parallelism.dp_degree: 4; expected "
                         "2 as in the first stage")));
}

// The runtime would make groups of 4 ranks with ranks that do not exist.
TEST(ExportAcesoTest, RefusesSixGpus) {
  PlannedTraining planned = OneDp();
  planned.plan.stages = {
      StageOn(0, 13, {.dp_degree = 2}, V100s(2)),
      StageOn(13, 34, {.tp_degree = 2, .dp_degree = 2}, NodeGpus(2, 4, 2))};
  EXPECT_THAT(AcesoRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("stages: 6 GPUs; expected 1, 2 or a multiple "
                                 "of 4")));
}

// Both of its cuts move to the norm of the MLP.
TEST(ExportAcesoTest, RefusesAStageThatIsNoHalfLayer) {
  PlannedTraining planned = OneDp();
  const StageParallelism one;
  planned.plan.stages = {StageOn(0, 13, one, V100s(1)),
                         StageOn(13, 13, one, NodeGpus(2, 1, 1)),
                         StageOn(13, 34, {.tp_degree = 2}, NodeGpus(2, 2, 2))};
  planned.plan.stages[1].plan.begin = {12, 3};
  planned.plan.stages[1].plan.end = {12, 4};
  planned.plan.stages[1].plan.recompute = {{1, 0}};
  planned.plan.stages[0].plan.end = {12, 3};
  planned.plan.stages[2].plan.begin = {12, 4};
  planned.plan.stages[2].plan.recompute = {{22, 0}};
  EXPECT_THAT(AcesoRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("stages[1]: less than half a layer")));
}

TEST(ExportAcesoTest, RefusesModelsThatItDoesNotBuild) {
  PlannedTraining planned = OneDp();
  planned.model = *BuiltinModel("llama2-7b");
  EXPECT_THAT(AcesoRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("aceso: model.layers[1]: a gated MLP")));
}

TEST(ExportAcesoTest, RefusesContextParallelism) {
  PlannedTraining planned = OneDp();
  planned.training.flash_attention = true;
  planned.plan.stages = {StageOn(0, 34, {.cp_degree = 4}, V100s(4))};
  EXPECT_THAT(AcesoRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("stages[0].plan.parallelism.cp_degree: 4")));
}

}  // namespace
}  // namespace tangram
