#include <gmock/gmock.h>

#include "frameworks/export_plan.h"
#include "tests/unit/frameworks/two_islands.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::ContentOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NodeGpus;
using testing::StageOn;
using testing::StatusIs;
using testing::TwoIslands;

absl::StatusOr<FrameworkExport> ExportMegatron(const PlannedTraining& planned) {
  return ExportPlan("megatron", planned);
}

TEST(ExportMegatronTest, HoldsUnevenLayers) {
  PlannedTraining planned = TwoIslands();
  const StageParallelism degrees{.tp_degree = 2, .dp_degree = 2};
  planned.plan.stages = {StageOn(0, 13, degrees, NodeGpus(0, 4)),
                         StageOn(13, 34, degrees, NodeGpus(2, 4))};
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported, ExportMegatron(planned));
  EXPECT_THAT(exported.losses, IsEmpty());
  EXPECT_EQ(ContentOf(exported, "megatron.args"),
            "--num-layers 32\n--hidden-size 4096\n--ffn-hidden-size 16384\n"
            "--num-attention-heads 32\n--kv-channels 128\n"
            "--normalization LayerNorm\n--vocab-size 51200\n"
            "--position-embedding-type learned_absolute\n"
            "--max-position-embeddings 2048\n"
            "--untie-embeddings-and-output-weights\n"
            "--tensor-model-parallel-size 2\n"
            "--pipeline-model-parallel-size 2\n"
            "--pipeline-model-parallel-layout Et*12|t*20L\n"
            // 4 sequences over dp 2.
            "--seq-length 2048\n--global-batch-size 128\n"
            "--micro-batch-size 2\n--fp16\n--optimizer adam\n"
            "--attention-dropout 0.1\n--hidden-dropout 0.1\n"
            "--attention-backend unfused\n");
}

TEST(ExportMegatronTest, LosesDegreesOfEachStage) {
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportMegatron(TwoIslands()));
  EXPECT_THAT(
      exported.losses,
      ElementsAre("stages[1].plan.parallelism.tp_degree: 2; becomes 4",
                  "stages[1].plan.parallelism.dp_degree: 4; becomes 2",
                  HasSubstr("stages[1].plan.recompute: 0 of 21 layers")));
}

TEST(ExportMegatronTest, HoldsVirtualStages) {
  PlannedTraining planned = TwoIslands();
  const StageParallelism dp4{.dp_degree = 4};
  planned.plan.schedule = PipelineSchedule::kInterleaved;
  planned.plan.virtual_stages = 2;
  planned.plan.stages = {StageOn(0, 9, dp4, NodeGpus(0, 4)),
                         StageOn(9, 17, dp4, NodeGpus(1, 4)),
                         StageOn(17, 26, dp4, NodeGpus(0, 4)),
                         StageOn(26, 34, dp4, NodeGpus(1, 4))};
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported, ExportMegatron(planned));
  EXPECT_THAT(exported.losses, IsEmpty());
  EXPECT_THAT(ContentOf(exported, "megatron.args"),
              AllOf(HasSubstr("--pipeline-model-parallel-size 2\n"),
                    HasSubstr("layout Et*8|t*8|t*9|t*7L\n")));
}

TEST(ExportMegatronTest, DescribesExpertsAfterDenseLayers) {
  PlannedTraining planned = TwoIslands();
  planned.model = *BuiltinModel("deepseek-v3");
  planned.training.precision = Precision::kBf16;
  planned.plan.stages = {
      StageOn(0, 63, {.dp_degree = 4, .ep_degree = 4}, NodeGpus(2, 4))};
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported, ExportMegatron(planned));
  EXPECT_THAT(ContentOf(exported, "megatron.args"),
              AllOf(HasSubstr("--moe-layer-freq ([0]*3+[1]*58)\n"),
                    HasSubstr("--multi-latent-attention\n--q-lora-rank 1536\n"
                              "--kv-lora-rank 512\n--qk-head-dim 128\n"
                              "--qk-pos-emb-head-dim 64\n--v-head-dim 128\n"),
                    HasSubstr("--expert-model-parallel-size 4\n"),
                    HasSubstr("--grad-reduce-in-bf16\n")));
}

// The number of ranks would not be tp x pp x dp.
TEST(ExportMegatronTest, RefusesStagesOfDifferentSizes) {
  PlannedTraining planned = TwoIslands();
  planned.plan.stages = {
      StageOn(0, 13, {.dp_degree = 4}, NodeGpus(0, 4)),
      StageOn(13, 34, {.tp_degree = 2, .dp_degree = 4}, NodeGpus(2, 8))};
  EXPECT_THAT(ExportMegatron(planned).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("megatron: stages[1].gpus: 8 GPUs; expected 4 "
                                 "as in the first stage")));
}

TEST(ExportMegatronTest, RefusesLayersOfManyKinds) {
  PlannedTraining planned = TwoIslands();
  planned.model.layers[5].ffn_hidden_size /= 2;
  EXPECT_THAT(ExportMegatron(planned).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("model.layers[5]: other dimensions")));
}

}  // namespace
}  // namespace tangram
