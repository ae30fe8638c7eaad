#include <gmock/gmock.h>

#include "frameworks/export_plan.h"
#include "tests/unit/frameworks/two_islands.h"

namespace tangram {
namespace {

using testing::ContentOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NodeGpus;
using testing::StageOn;
using testing::StatusIs;
using testing::TwoIslands;

absl::StatusOr<FrameworkExport> ExportFlagScale(
    const PlannedTraining& planned) {
  return ExportPlan("flagscale", planned);
}

absl::Status FlagScaleRefusal(const PlannedTraining& planned) {
  return ExportFlagScale(planned).status();
}

TEST(ExportFlagScaleTest, HoldsTwoIslandsWithoutLoss) {
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportFlagScale(TwoIslands()));
  EXPECT_THAT(exported.losses, IsEmpty());
  const std::string yaml = ContentOf(exported, "train/plan.yaml");
  EXPECT_THAT(yaml, HasSubstr("pipeline_model_parallel_size: 2 "));
  // Each mesh is tp, cp, ep, dp, pp.
  EXPECT_THAT(yaml, HasSubstr("hetero_process_meshes: [4, 1, 1, 2, 1, "
                              "2, 1, 1, 4, 1]\n"));
  EXPECT_THAT(yaml, HasSubstr("hetero_pipeline_layer_split: [12, 20]\n"));
  EXPECT_THAT(yaml, HasSubstr("hetero_device_types: [T4, V100-16]\n"));
  // One replica of the first mesh: 4 sequences over dp 2.
  EXPECT_THAT(yaml, HasSubstr("  micro_batch_size: 2\n"));
  // 128 sequences are 32 microbatches of 4.
  EXPECT_THAT(yaml, HasSubstr("recompute_num_layers_per_stage_micro_batch:\n"
                              "      - [1, 32, 12]\n      - [1, 32, 0]\n"));
  EXPECT_EQ(ContentOf(exported, "hostfile"),
            "t4-0 slots=4 type=T4\nt4-1 slots=4 type=T4\n"
            "v100-0 slots=8 type=V100-16\n");
}

TEST(ExportFlagScaleTest, JoinsEqualNeighboursToOneMesh) {
  PlannedTraining planned = TwoIslands();
  const StageParallelism dp4{.dp_degree = 4};
  planned.plan.stages = {StageOn(0, 9, dp4, NodeGpus(0, 4)),
                         StageOn(9, 17, dp4, NodeGpus(1, 4)),
                         StageOn(17, 34, dp4, NodeGpus(2, 4))};
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportFlagScale(planned));
  EXPECT_THAT(ContentOf(exported, "train/plan.yaml"),
              HasSubstr("[1, 1, 1, 4, 2, 1, 1, 1, 4, 1]"));
}

TEST(ExportFlagScaleTest, NamesGpusThatAreNotTheFirst) {
  PlannedTraining planned = TwoIslands();
  planned.plan.stages = {
      StageOn(0, 34, {.tp_degree = 2, .dp_degree = 2}, NodeGpus(2, 4, 4))};
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportFlagScale(planned));
  EXPECT_EQ(ContentOf(exported, "hostfile"),
            "v100-0 slots=4 type=V100-16 gpus=4,5,6,7\n");
  EXPECT_THAT(ContentOf(exported, "experiment.yaml"),
              HasSubstr("      v100-0:\n"
                        "        CUDA_VISIBLE_DEVICES: \"4,5,6,7\"\n"));
}

TEST(ExportFlagScaleTest, ATypeThatComesBackIsAnotherType) {
  PlannedTraining planned = TwoIslands();
  const StageParallelism tp4{.tp_degree = 4};
  planned.plan.stages = {StageOn(0, 9, tp4, NodeGpus(0, 4)),
                         StageOn(9, 17, tp4, NodeGpus(2, 4)),
                         StageOn(17, 34, tp4, NodeGpus(1, 4))};
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportFlagScale(planned));
  EXPECT_THAT(ContentOf(exported, "train/plan.yaml"),
              HasSubstr("hetero_device_types: [T4, V100-16, T4-again1]"));
}

TEST(ExportFlagScaleTest, LosesWhatOnlySomeLayersRecompute) {
  PlannedTraining planned = TwoIslands();
  testing::RecomputeLayers(20, 21, planned);  // Not the first of its stage.
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportFlagScale(planned));
  EXPECT_THAT(
      exported.losses,
      ElementsAre(
          "stages[1].plan.recompute: 1 of 21 layers (masks 0 x 7, 0x3ff x 1, 0 "
          "x 13); becomes 1 of 21 layers (masks 0x3ff x 1, 0 x 20)"));
}

TEST(ExportFlagScaleTest, LosesCutsInsideLayers) {
  PlannedTraining planned = TwoIslands();
  planned.plan.stages[0].plan.end = {13, 4};
  planned.plan.stages[0].plan.recompute.back().num_layers += 1;
  planned.plan.stages[1].plan.begin = {13, 4};
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportFlagScale(planned));
  ASSERT_FALSE(exported.losses.empty());
  EXPECT_EQ(exported.plan.stages[1].plan.begin, (OperatorCut{13, 0}));
}

TEST(ExportFlagScaleTest, LosesShardingBeyondTheOptimizer) {
  PlannedTraining planned = TwoIslands();
  planned.plan.stages[0].plan.parallelism.zero_stage = 3;
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportFlagScale(planned));
  EXPECT_THAT(
      exported.losses,
      ElementsAre("stages[0].plan.parallelism.zero_stage: 3; becomes 1",
                  "stages[1].plan.parallelism.zero_stage: 0; becomes 1"));
}

// The head would be reduced with an embedding of another shape.
TEST(ExportFlagScaleTest, RefusesTiedEmbeddingsOfTwoTensorDegrees) {
  PlannedTraining planned = TwoIslands();
  planned.model.layers.front().tied_embeddings = true;
  planned.model.layers.back().tied_embeddings = true;
  EXPECT_THAT(
      FlagScaleRefusal(planned),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("flagscale: stages[1].plan.parallelism.tp_degree: 2; "
                         "expected 4 as in the first stage")));
}

TEST(ExportFlagScaleTest, RefusesTiedEmbeddingsOfDataDegreesThatDoNotDivide) {
  PlannedTraining planned = TwoIslands();
  planned.training.global_batch_size = 126;
  planned.plan.pipeline_microbatch_size = 6;
  planned.model.layers.back().tied_embeddings = true;
  planned.plan.stages = {StageOn(0, 13, {.dp_degree = 2}, NodeGpus(0, 2)),
                         StageOn(13, 34, {.dp_degree = 3}, NodeGpus(2, 3))};
  EXPECT_THAT(FlagScaleRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("stages[1].plan.parallelism.dp_degree: 3")));
}

// Groups over ranks of one context would wait for ranks of the other.
TEST(ExportFlagScaleTest, RefusesContextParallelismInSomeStages) {
  PlannedTraining planned = TwoIslands();
  planned.training.flash_attention = true;
  planned.plan.stages[1].plan.parallelism = {
      .tp_degree = 2, .cp_degree = 2, .dp_degree = 2};
  EXPECT_THAT(FlagScaleRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("stages[1].plan.parallelism.cp_degree: 2; "
                                 "expected 1 as in the first stage")));
}

TEST(ExportFlagScaleTest, RefusesContextsThatDoNotSplitTheSequenceTwice) {
  PlannedTraining planned = TwoIslands();
  planned.training.sequence_length = 2050;
  planned.plan.stages = {
      StageOn(0, 34, {.tp_degree = 4, .cp_degree = 2}, NodeGpus(2, 8))};
  EXPECT_THAT(
      FlagScaleRefusal(planned),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("stages[0].plan.parallelism.cp_degree: 2; expected "
                         "twice it to divide the sequence length")));
}

// The data loader of the first mesh would drop the rest of the batch.
TEST(ExportFlagScaleTest, RefusesABatchThatDoesNotDivide) {
  PlannedTraining planned = TwoIslands();
  planned.training.global_batch_size = 130;
  EXPECT_THAT(FlagScaleRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("pipeline_microbatch_size: 4; expected a "
                                 "divisor of the global batch size, 130")));
}

// Three replicas cannot share four sequences.
TEST(ExportFlagScaleTest, RefusesAMicrobatchThatDoesNotDivide) {
  PlannedTraining planned = TwoIslands();
  planned.plan.stages[1] =
      StageOn(13, 34, {.tp_degree = 2, .dp_degree = 3}, NodeGpus(2, 6));
  EXPECT_THAT(FlagScaleRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("stages[1].plan.parallelism.dp_degree: 3")));
}

TEST(ExportFlagScaleTest, RefusesVirtualStages) {
  PlannedTraining planned = TwoIslands();
  const StageParallelism dp4{.dp_degree = 4};
  planned.plan.schedule = PipelineSchedule::kInterleaved;
  planned.plan.virtual_stages = 2;
  planned.plan.stages = {StageOn(0, 9, dp4, NodeGpus(0, 4)),
                         StageOn(9, 17, dp4, NodeGpus(1, 4)),
                         StageOn(17, 25, dp4, NodeGpus(0, 4)),
                         StageOn(25, 34, dp4, NodeGpus(1, 4))};
  EXPECT_THAT(FlagScaleRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("virtual_stages: 2; expected 1")));
}

TEST(ExportFlagScaleTest, RefusesAStageOfTwoTypes) {
  PlannedTraining planned = TwoIslands();
  std::vector<GpuId> gpus = NodeGpus(0, 2);
  for (const GpuId& gpu : NodeGpus(2, 2)) gpus.push_back(gpu);
  planned.plan.stages = {StageOn(0, 34, {.dp_degree = 4}, gpus)};
  EXPECT_THAT(FlagScaleRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("types T4 and V100-16")));
}

// Launchers number ranks host by host, so stages would get each other's ranks.
TEST(ExportFlagScaleTest, RefusesHostsThatStagesComeBackTo) {
  PlannedTraining planned = TwoIslands();
  const StageParallelism dp2{.dp_degree = 2};
  planned.plan.stages = {StageOn(0, 9, dp2, NodeGpus(0, 2)),
                         StageOn(9, 17, dp2, NodeGpus(2, 2)),
                         StageOn(17, 34, dp2, NodeGpus(0, 2, 2))};
  EXPECT_THAT(FlagScaleRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("stages[2].gpus: back on host t4-0")));
}

TEST(ExportFlagScaleTest, RefusesAStageWithoutTransformerLayers) {
  PlannedTraining planned = TwoIslands();
  planned.plan.stages = {StageOn(0, 1, {.dp_degree = 4}, NodeGpus(0, 4)),
                         StageOn(1, 34, {.dp_degree = 4}, NodeGpus(2, 4))};
  EXPECT_THAT(FlagScaleRefusal(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("stages[0]: no transformer layer")));
}

}  // namespace
}  // namespace tangram
