#include "frameworks/export_pipelines.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/unit/frameworks/two_islands.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::ContentOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::NodeGpus;
using ::testing::Not;
using testing::StageOn;
using testing::StatusIs;
using testing::TestCluster;
using testing::TestDevice;

PipelineReplica Replica(int microbatch, int count,
                        std::vector<PlacedStage> stages) {
  PipelineReplica replica{.num_microbatches = count};
  replica.plan.pipeline_microbatch_size = microbatch;
  replica.plan.stages = std::move(stages);
  return replica;
}

StageParallelism Tp(int tp) {
  return {.tp_degree = tp, .sequence_parallel = tp > 1};
}

// Llama 2 7B of 4,096 tokens in bf16: a stage of tp 4 with 20 microbatches of
// 2, and stages of tp 2 and 1 with 12.
PlannedPipelines TwoShapes() {
  PlannedPipelines planned{
      .cluster = TestCluster({{"a", 1, 4, TestDevice("A100")},
                              {"h", 1, 4, TestDevice("H100-SXM")}}),
      .model = *BuiltinModel("llama2-7b"),
      .training = testing::TestTraining(64)};
  planned.training.precision = Precision::kBf16;
  planned.training.sequence_length = 4096;
  planned.training.dropout = false;
  planned.plan.pipelines = {
      Replica(2, 20, {StageOn(0, 34, Tp(4), NodeGpus(0, 4))}),
      Replica(2, 12,
              {StageOn(0, 20, Tp(2), NodeGpus(1, 2)),
               StageOn(20, 34, Tp(1), NodeGpus(1, 1, 2))})};
  return planned;
}

void ExpectRefusal(const char* target, const PlannedPipelines& planned,
                   const char* message) {
  SCOPED_TRACE(target);
  EXPECT_THAT(ExportPipelines(target, planned).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
}

TEST(ExportPipelinesTest, FlashFlexHasListsOfPipelinesAndShares) {
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPipelines("flashflex", TwoShapes()));
  EXPECT_EQ(nlohmann::json::parse(ContentOf(exported, "flashflex.json")),
            nlohmann::json::parse(R"({"hetero_configs": [[4], [2, 1]],
          "layer_partitions": [[32], [19, 13]],
          "devices_id": [[[0, 0, 0, 0]], [[1, 1], [1]]],
          "pp_layouts": [[[0, 1, 2, 3]], [[4, 5], [6]]]})"));
  EXPECT_THAT(ContentOf(exported, "launch.sh"),
              AllOf(HasSubstr("--global_bsz_size 40 24 --chunks 20 12"),
                    HasSubstr("weigh_pipelines.py")));
  // No sequence parallelism.
  EXPECT_THAT(exported.losses,
              ElementsAre(HasSubstr("pipelines[0].plan.stages[0]"),
                          HasSubstr("pipelines[1].plan.stages[0]")));
}

TEST(ExportPipelinesTest, FlashFlexRecomputesAllPipelinesOrNone) {
  PlannedPipelines planned = TwoShapes();
  StagePlan& stage = planned.plan.pipelines[1].plan.stages[0].plan;
  stage.recompute = {
      {.num_layers = 1},
      {.num_layers = 19, .mask = WholeLayerMask(planned.model.layers[1])}};
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPipelines("flashflex", planned));
  EXPECT_THAT(ContentOf(exported, "launch.sh"),
              HasSubstr("--checkpoint-layers"));
  EXPECT_THAT(
      exported.losses,
      Contains(HasSubstr("pipelines[0].plan.stages[0].plan.recompute: 0 of")));
}

// Each from a host to the other, so that ranks of the second pipeline fall. By
// itself, FlashFlex would give them the layers of other stages.
TEST(ExportPipelinesTest, FlashFlexHasAProgramWhereRanksOfStagesFall) {
  PlannedPipelines planned = TwoShapes();
  planned.plan.pipelines = {
      Replica(2, 16,
              {StageOn(0, 20, Tp(1), NodeGpus(0, 1)),
               StageOn(20, 34, Tp(1), NodeGpus(1, 1))}),
      Replica(2, 16,
              {StageOn(0, 20, Tp(1), NodeGpus(1, 1, 1)),
               StageOn(20, 34, Tp(1), NodeGpus(0, 1, 1))})};
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPipelines("flashflex", planned));
  EXPECT_THAT(ContentOf(exported, "launch.sh"),
              HasSubstr("weigh_pipelines.py"));
  EXPECT_THAT(exported.guards,
              Contains("ranks are numbered host by host, and each is in its "
                       "stage, by weigh_pipelines.py"));
}

// tp 4 and 3, which no pieces of a tensor have in common.
TEST(ExportPipelinesTest, TpMustDivideTheLargestOfTheLayer) {
  PlannedPipelines planned = TwoShapes();
  planned.cluster = TestCluster({{"a", 2, 4, TestDevice("A100")}});
  for (LayerSpec& layer : planned.model.layers) {
    if (layer.kind != LayerKind::kTransformer) continue;
    layer.num_heads = layer.num_kv_heads = 48;
    layer.ffn_hidden_size = 12288;
  }
  for (LayerSpec& layer : planned.model.layers) layer.vocab_size *= 3;
  planned.plan.pipelines[1].plan.stages = {
      StageOn(0, 34, {.tp_degree = 3}, NodeGpus(1, 3))};
  for (const char* target : {"flashflex", "hetu"}) {
    ExpectRefusal(target, planned,
                  "pipelines[1].plan.stages[0].plan.parallelism.tp_degree: 3; "
                  "expected a divisor of 4, the largest of layer 0");
  }
}

TEST(ExportPipelinesTest, HetuTrainsThemWithoutLoss) {
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPipelines("hetu", TwoShapes()));
  EXPECT_THAT(exported.losses, ::testing::IsEmpty());
  const auto config =
      nlohmann::json::parse(ContentOf(exported, "ds_parallel.json"));
  EXPECT_EQ(config["llama"]["blocks"]["blocks18"]["attn"]["qkv"],
            nlohmann::json::parse(R"({"split": {"1": [4, 2]}, "dup": [2, 2],
                "device_group_union": [[0, 1, 2, 3], [4, 5]],
                "type": "variable"})"));
  EXPECT_EQ(config["label"],
            nlohmann::json::parse(R"({"split": {"0": [2, 2]}, "dup": [4, 1],
                "device_group_union": [[0, 1, 2, 3], [6]],
                "type": "placeholder"})"));
  // Four ranks a stage. Ranks beyond the tp of a stage have no device: 7 and
  // more.
  EXPECT_THAT(ContentOf(exported, "hetu.yaml"),
              AllOf(HasSubstr("unused_rank: [6,7,9,10,11]\n"),
                    HasSubstr("    4: 4\n    5: 5\n    6: 7\n    7: 8\n"
                              "    8: 6\n    9: 9\n"),
                    HasSubstr("hetero_layers: [[32],[19,13]]\n"),
                    HasSubstr("micro_batch_num_list: [20,12]\n"),
                    HasSubstr("micro_batch_size: 2\n")));
}

TEST(ExportPipelinesTest, HetuHasOneMicrobatchSize) {
  PlannedPipelines planned = TwoShapes();
  planned.plan.pipelines[1].num_microbatches = 6;
  planned.plan.pipelines[1].plan.pipeline_microbatch_size = 4;
  ExpectRefusal("hetu", planned,
                "pipelines[1].plan.pipeline_microbatch_size: 4; expected 2");
  EXPECT_TRUE(ExportPipelines("flashflex", planned).ok());
}

TEST(ExportPipelinesTest, StateIsWholeInFlashFlexAndShardedEvenlyInHetu) {
  PlannedPipelines planned = TwoShapes();
  planned.plan.sync = ReplicaSync::kZero1;
  planned.plan.pipelines[0].state_fraction = 0.75;
  planned.plan.pipelines[1].state_fraction = 0.25;
  ASSERT_OK_AND_ASSIGN(const FrameworkExport whole,
                       ExportPipelines("flashflex", planned));
  EXPECT_THAT(whole.losses, Contains("sync: zero1; becomes all-reduce"));
  ASSERT_OK_AND_ASSIGN(const FrameworkExport sharded,
                       ExportPipelines("hetu", planned));
  EXPECT_THAT(sharded.losses,
              ElementsAre("pipelines[0].state_fraction: 0.75; becomes 0.5",
                          "pipelines[1].state_fraction: 0.25; becomes 0.5"));
  EXPECT_THAT(ContentOf(sharded, "ds_parallel.json"),
              HasSubstr("\"zero\": true"));
  EXPECT_THAT(ContentOf(sharded, "hetu.yaml"), HasSubstr("zero: true"));
}

TEST(ExportPipelinesTest, OthersTrainOnePipeline) {
  EXPECT_THAT(
      ExportPipelines("megatron", TwoShapes()).status(),
      StatusIs(absl::StatusCode::kUnimplemented,
               HasSubstr("megatron: replicated_plan: several pipelines; "
                         "expected one pipeline")));
}

// The collective libraries of all pipelines are one.
TEST(ExportPipelinesTest, PipelinesOfTwoLibrariesAreRefused) {
  PlannedPipelines planned = TwoShapes();
  planned.cluster.nodes[1].device.collective_library = CollectiveLibrary::kRccl;
  for (const char* target : {"flashflex", "hetu"}) {
    ExpectRefusal(target, planned, "pipelines[1].plan.stages[0].gpus: H100");
  }
}

}  // namespace
}  // namespace tangram
