#include <gmock/gmock.h>

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
using testing::NodeGpus;
using ::testing::Not;
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
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportAceso(TwoIslands()));
  EXPECT_THAT(exported.losses, IsEmpty());
  const nlohmann::json config = ConfigOf(exported);
  EXPECT_EQ(config["num_layers"], 32);
  EXPECT_EQ(config["micro_batch_size"], 4);  // All replicas together.
  EXPECT_EQ(config["global_batch_size"], 128);
  EXPECT_EQ(config["num_gpus"], nlohmann::json({8, 8}));
  // 13 operators a layer, one before, two after: 1 + 12 x 13, 20 x 13 + 2.
  EXPECT_EQ(config["num_ops_in_each_stage"], nlohmann::json({157, 262}));
  EXPECT_EQ(config["checkpoint_activations"], nlohmann::json({true, false}));
  EXPECT_EQ(config["model_parallel_size_of_each_op"][1][261], 2);
  EXPECT_EQ(config["data_parallel_size_of_each_op"][0].size(), 157);
  EXPECT_EQ(config["recompute_ops"][0][0], 0);  // The embedding.
  EXPECT_EQ(config["recompute_ops"][0][156], 1);
}

TEST(ExportAcesoTest, CutsAndRecomputesOperators) {
  PlannedTraining planned = TwoIslands();
  // Norm, QKV and the core (4 of their operators) of layer 13 move to the first
  // stage.
  planned.plan.stages[0].plan.end = {13, 3};
  planned.plan.stages[0].plan.recompute.push_back({1, OpMask{1} << 2});
  planned.plan.stages[1].plan.begin = {13, 3};
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported, ExportAceso(planned));
  EXPECT_THAT(exported.losses, IsEmpty());
  const nlohmann::json config = ConfigOf(exported);
  EXPECT_EQ(config["num_ops_in_each_stage"], nlohmann::json({163, 256}));
  const nlohmann::json recomputed = config["recompute_ops"][0];
  EXPECT_EQ((std::vector<int>(recomputed.end() - 6, recomputed.end())),
            (std::vector<int>{0, 0, 1, 1, 1, 1}));
}

TEST(ExportAcesoTest, LosesWhatMegatronAddedLater) {
  PlannedTraining planned = TwoIslands();
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

TEST(ExportAcesoTest, TellsTheRuntimeThatEmbeddingsAreNotShared) {
  PlannedTraining planned = TwoIslands();
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
  PlannedTraining planned = TwoIslands();
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

// tp 2, 6 and 3: neighbours divide each other, but the last and the first do
// not.
TEST(ExportAcesoTest, RefusesALastStageThatDoesNotDivideTheFirst) {
  PlannedTraining planned = TwoIslands();
  planned.training.global_batch_size = 120;
  planned.plan.pipeline_microbatch_size = 6;
  planned.cluster = testing::TestCluster({{"a", 1, 12}});
  planned.plan.stages = {StageOn(0, 13, {.dp_degree = 2}, NodeGpus(0, 2)),
                         StageOn(13, 25, {.dp_degree = 6}, NodeGpus(0, 6, 2)),
                         StageOn(25, 34, {.dp_degree = 3}, NodeGpus(0, 3, 8))};
  EXPECT_THAT(AcesoRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("stages[0].plan.parallelism.dp_degree: 2; "
                                 "expected a divisor or multiple of the 3")));
}

// The runtime would make groups of 4 ranks with ranks that do not exist.
TEST(ExportAcesoTest, RefusesSixGpus) {
  PlannedTraining planned = TwoIslands();
  planned.plan.stages = {StageOn(0, 13, {.dp_degree = 2}, V100s(2)),
                         StageOn(13, 34, {.dp_degree = 4}, NodeGpus(2, 4, 2))};
  EXPECT_THAT(AcesoRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("stages: 6 GPUs; expected 1, 2 or a multiple "
                                 "of 4")));
}

// A residual would cross two stage boundaries.
TEST(ExportAcesoTest, RefusesAStageUnderAResidual) {
  PlannedTraining planned = TwoIslands();
  const StageParallelism one;
  planned.plan.stages = {StageOn(0, 13, one, V100s(1)),
                         StageOn(13, 13, one, NodeGpus(2, 1, 1)),
                         StageOn(13, 34, {.dp_degree = 2}, NodeGpus(2, 2, 2))};
  planned.plan.stages[1].plan.begin = {12, 3};
  planned.plan.stages[1].plan.end = {12, 4};
  planned.plan.stages[1].plan.recompute = {{1, 0}};
  planned.plan.stages[0].plan.end = {12, 3};
  planned.plan.stages[2].plan.begin = {12, 4};
  planned.plan.stages[2].plan.recompute = {{22, 0}};
  EXPECT_THAT(AcesoRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("stages[1]: a stage inside an attention or "
                                 "an MLP block")));
}

TEST(ExportAcesoTest, RefusesModelsThatItDoesNotBuild) {
  PlannedTraining planned = TwoIslands();
  planned.model = *BuiltinModel("llama2-7b");
  EXPECT_THAT(AcesoRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("aceso: model.layers[1]: a gated MLP")));
}

TEST(ExportAcesoTest, RefusesContextParallelism) {
  PlannedTraining planned = TwoIslands();
  planned.plan.stages = {StageOn(0, 34, {.cp_degree = 4}, V100s(4))};
  EXPECT_THAT(AcesoRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("stages[0].plan.parallelism.cp_degree: 4")));
}

}  // namespace
}  // namespace tangram
