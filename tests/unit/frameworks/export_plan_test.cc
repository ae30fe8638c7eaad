#include "frameworks/export_plan.h"

#include <gmock/gmock.h>

#include <string>

#include "frameworks/framework_table.h"
#include "nlohmann/json.hpp"
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
using ::testing::Not;
using testing::OneDp;
using testing::StageOn;
using testing::StatusIs;
using testing::TwoIslands;

// Llama 2 7B, 4,096 tokens: tp 4 and tp 2, and dp 2 in both stages.
PlannedTraining TwoReplicas() {
  PlannedTraining planned = TwoIslands();
  planned.model = *BuiltinModel("llama2-7b");
  planned.training.sequence_length = 4096;
  std::vector<GpuId> t4 = NodeGpus(0, 4);
  for (const GpuId& gpu : NodeGpus(1, 4)) t4.push_back(gpu);
  planned.plan.stages = {
      StageOn(0, 13, {.tp_degree = 4, .dp_degree = 2}, t4),
      StageOn(13, 34, {.tp_degree = 2, .dp_degree = 2}, NodeGpus(2, 4))};
  return planned;
}

// Llama 2 7B in bf16: tp 2 and dp 2 in two stages of 12 and 20 layers.
PlannedTraining OneMesh() {
  PlannedTraining planned = TwoReplicas();
  planned.training.precision = Precision::kBf16;
  planned.training.fp32_gradients = true;
  planned.training.dropout = false;
  const StageParallelism tp2dp2{.tp_degree = 2, .dp_degree = 2};
  planned.plan.stages = {StageOn(0, 13, tp2dp2, NodeGpus(0, 4)),
                         StageOn(13, 34, tp2dp2, NodeGpus(2, 4))};
  return planned;
}

void ExpectRefusal(const char* target, const PlannedTraining& planned,
                   const char* message) {
  SCOPED_TRACE(target);
  EXPECT_THAT(ExportPlan(target, planned).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
}

// Its attention asserts sequence parallelism and flash attention.
PlannedTraining ForGalvatron() {
  PlannedTraining planned = TwoIslands();
  planned.training.flash_attention = true;
  for (PlacedStage& stage : planned.plan.stages) {
    stage.plan.parallelism.sequence_parallel = true;
  }
  return planned;
}

TEST(ExportPlanTest, GalvatronHoldsLayersOfTheirOwnDegrees) {
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("galvatron", ForGalvatron()));
  // The embedding has tp 4, so the head has it too.
  EXPECT_THAT(exported.losses,
              ElementsAre("stages[1], head: tp 2; becomes 4, one for embedding "
                          "and head"));
  const auto config =
      nlohmann::json::parse(ContentOf(exported, "galvatron.json"));
  EXPECT_EQ(config["pp_division"], "12,20");
  EXPECT_EQ(config["chunks"], 32);  // 128 sequences in microbatches of 4.
  EXPECT_EQ(config["vtp"], 4);
  EXPECT_EQ(config["checkpoint"].get<std::string>().substr(20, 8), "1,1,0,0,");
  EXPECT_EQ(config["embed_sdp"], config["vocab_sdp"]);
}

// Galvatron's defaults are those of Llama.
TEST(ExportPlanTest, GalvatronIsToldOfAllThatIsNotLlama) {
  PlannedTraining planned = TwoIslands();
  planned.model = *BuiltinModel("gpt3-6.7b");
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("galvatron", planned));
  EXPECT_THAT(ContentOf(exported, "runtime.yaml"),
              AllOf(HasSubstr("untie_embeddings_and_output_weights: false\n"),
                    HasSubstr("activation_func: torch.nn.functional.gelu\n"),
                    HasSubstr("hidden_dropout: 0.1\n"),
                    HasSubstr("is_moe_model: false\n")));
  EXPECT_THAT(ContentOf(exported, "launch.sh"), HasSubstr("/models/gpt\""));
}

TEST(ExportPlanTest, NamesOfModelsAddNoSettingsForGalvatron) {
  PlannedTraining planned = TwoIslands();
  planned.model.name = "x\n    evil: 1";
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("galvatron", planned));
  EXPECT_THAT(ContentOf(exported, "runtime.yaml"),
              HasSubstr("    model_size: \"x\\n    evil: 1\"\n"));
}

TEST(ExportPlanTest, GalvatronTrainsExpertsWithItsOtherProgram) {
  PlannedTraining planned = OneMesh();
  planned.model = *BuiltinModel("mixtral-8x7b");
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("galvatron", planned));
  EXPECT_THAT(ContentOf(exported, "runtime.yaml"),
              AllOf(HasSubstr("is_moe_model: true\n"),
                    HasSubstr("num_moe_experts: 8\n")));
  EXPECT_THAT(ContentOf(exported, "launch.sh"), HasSubstr("/models/moe\""));
}

// Ranks of the larger stage would be in groups of the next stage.
TEST(ExportPlanTest, GalvatronRefusesStagesOfDifferentSizes) {
  ExpectRefusal("galvatron", TwoReplicas(),
                "stages[1].gpus: 4 GPUs; expected 8");
}

TEST(ExportPlanTest, GalvatronRefusesABatchThatReplicasDoNotDivide) {
  PlannedTraining planned = TwoIslands();
  planned.training.global_batch_size = 12;
  planned.plan.pipeline_microbatch_size = 4;
  planned.plan.stages = {StageOn(0, 13, {.dp_degree = 4}, NodeGpus(0, 4)),
                         StageOn(13, 34, {.dp_degree = 4}, NodeGpus(1, 4))};
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("galvatron", planned));
  planned.training.global_batch_size = 10;
  ExpectRefusal("galvatron", planned, "10");
}

TEST(ExportPlanTest, SailorListsRanksOfEachReplica) {
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("sailor", TwoReplicas()));
  EXPECT_THAT(exported.losses, IsEmpty());
  EXPECT_EQ(ContentOf(exported, "dist_config.json"),
            "[[[0,1,2,3],[4,5,6,7]],[[8,9],[10,11]]]\n");
  const auto config =
      nlohmann::json::parse(ContentOf(exported, "cluster_config.json"));
  EXPECT_EQ(config["num_layers_per_stage"], nlohmann::json({12, 20}));
  EXPECT_EQ(config["microbatch_size"], 2);  // 4 over dp 2.
}

// Sailor would drop the ranks of the replicas that the first stage lacks.
TEST(ExportPlanTest, SailorRefusesDifferentDataDegrees) {
  ExpectRefusal("sailor", TwoIslands(),
                "stages[1].plan.parallelism.dp_degree: 4; expected 2");
}

TEST(ExportPlanTest, FlashFlexMakesAPipelineOfEachReplica) {
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("flashflex", TwoReplicas()));
  EXPECT_THAT(exported.losses, IsEmpty());
  EXPECT_EQ(nlohmann::json::parse(ContentOf(exported, "flashflex.json")),
            nlohmann::json::parse(
                R"({"hetero_configs": [[4, 2], [4, 2]],
                    "layer_partitions": [[12, 20], [12, 20]],
                    "devices_id": [[[0, 0, 0, 0], [2, 2]],
                                   [[1, 1, 1, 1], [2, 2]]],
                    "pp_layouts": [[[0, 1, 2, 3], [4, 5]],
                                   [[8, 9, 10, 11], [6, 7]]]})"));
  // Ranks are numbered host by host, pipeline by pipeline.
  EXPECT_EQ(ContentOf(exported, "hostfile"),
            "t4-0 slots=4 type=T4\nv100-0 slots=4 type=V100-16\n"
            "t4-1 slots=4 type=T4\n");
  // 128 sequences over two pipelines, in 32 microbatches. Ranks 6 and 7 are
  // between those of the other pipeline, whose data llama_train.py would give
  // them.
  EXPECT_THAT(ContentOf(exported, "launch.sh"),
              AllOf(HasSubstr("--global_bsz_size 64 64 --chunks 32 32"),
                    HasSubstr("exec \"${torchrun[@]}\" "
                              "\"$here/weigh_pipelines.py\"")));
}

// Both stages of a replica on hosts of its own.
TEST(ExportPlanTest, FlashFlexTellsPipelinesOfNeighbouringRanksByItself) {
  PlannedTraining planned = TwoReplicas();
  planned.cluster =
      testing::TestCluster({{"t4", 2, 4, testing::TestDevice("T4")},
                            {"v100", 2, 2, testing::TestDevice("V100-16")}});
  std::vector<GpuId> v100 = NodeGpus(2, 2);
  for (const GpuId& gpu : NodeGpus(3, 2)) v100.push_back(gpu);
  planned.plan.stages[1].gpus = v100;
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("flashflex", planned));
  EXPECT_EQ(nlohmann::json::parse(
                ContentOf(exported, "flashflex.json"))["pp_layouts"],
            nlohmann::json::parse("[[[0,1,2,3],[4,5]],[[6,7,8,9],[10,11]]]"));
  EXPECT_THAT(ContentOf(exported, "launch.sh"),
              HasSubstr("exec \"${torchrun[@]}\" llama_train.py"));
}

// FlashFlex always trains with 4,096 tokens.
TEST(ExportPlanTest, FlashFlexRefusesOtherSequenceLengths) {
  PlannedTraining planned = TwoReplicas();
  planned.training.sequence_length = 2048;
  ExpectRefusal("flashflex", planned, "training.sequence_length: 2048");
}

TEST(ExportPlanTest, FlashFlexRefusesDifferentDataDegrees) {
  PlannedTraining planned = TwoReplicas();
  planned.plan.stages[1].plan.parallelism = {.dp_degree = 4};
  ExpectRefusal("flashflex", planned,
                "stages[1].plan.parallelism.dp_degree: 4");
}

TEST(ExportPlanTest, TorchTitanListsModulesOfEachPart) {
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("torchtitan", OneMesh()));
  EXPECT_THAT(exported.losses, IsEmpty());
  EXPECT_THAT(
      ContentOf(exported, "tangram_plan.py"),
      AllOf(HasSubstr("        [\"tok_embeddings\", *(f\"layers.{i}\" for i in "
                      "range(0, 12))],\n"),
            HasSubstr("        [*(f\"layers.{i}\" for i in range(12, 32)), "
                      "\"norm\", \"lm_head\"],\n"),
            HasSubstr("data_parallel_replicate_degree=2,\n")));
}

TEST(ExportPlanTest, TorchTitanReplicatesShards) {
  PlannedTraining planned = OneMesh();
  const StageParallelism sharded{
      .dp_degree = 4, .zero_stage = 3, .zero_degree = 2};
  for (PlacedStage& stage : planned.plan.stages) {
    stage.plan.parallelism = sharded;
  }
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("torchtitan", planned));
  EXPECT_THAT(exported.losses, IsEmpty());
  EXPECT_THAT(ContentOf(exported, "tangram_plan.py"),
              HasSubstr("data_parallel_shard_degree=2,\n"
                        "    data_parallel_replicate_degree=2,\n"));
}

TEST(ExportPlanTest, OthersLoseShardsOverAPartOfTheDataRanks) {
  PlannedTraining planned = TwoReplicas();
  const StageParallelism sharded{
      .dp_degree = 4, .zero_stage = 1, .zero_degree = 2};
  planned.plan.stages = {StageOn(0, 13, sharded, NodeGpus(0, 4)),
                         StageOn(13, 34, sharded, NodeGpus(2, 4))};
  for (const char* target : {"flagscale", "sailor", "flashflex"}) {
    SCOPED_TRACE(target);
    ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                         ExportPlan(target, planned));
    EXPECT_THAT(exported.losses,
                Contains("stages[0].plan.parallelism.zero_degree: 2; becomes "
                         "0"));
  }
}

TEST(ExportPlanTest, TorchTitanRefusesStagesOfDifferentSizes) {
  PlannedTraining planned = OneMesh();
  planned.plan.stages = TwoReplicas().plan.stages;
  ExpectRefusal("torchtitan", planned, "stages[1].gpus: 4 GPUs");
}

// Alpa assigns the first hosts to the last of equal stages.
TEST(ExportPlanTest, AlpaListsHostsFromTheLastStage) {
  PlannedTraining planned = TwoIslands();
  planned.plan.stages = {StageOn(0, 13, {.dp_degree = 4}, NodeGpus(0, 4)),
                         StageOn(13, 34, {.tp_degree = 4}, NodeGpus(1, 4))};
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("alpa", planned));
  EXPECT_THAT(exported.losses, IsEmpty());
  EXPECT_EQ(ContentOf(exported, "hostfile"), "t4-1 slots=4\nt4-0 slots=4\n");
  EXPECT_THAT(ContentOf(exported, "alpa_stages.py"),
              AllOf(HasSubstr("list(range(0, 12)),\n"),
                    HasSubstr("submesh_logical_shapes=[(4, 1), (1, 4)]")));
}

TEST(ExportPlanTest, AlpaRefusesPartsThatDoNotFillAHost) {
  PlannedTraining planned = TwoIslands();
  planned.plan.stages = {StageOn(0, 13, {.dp_degree = 4}, NodeGpus(0, 4)),
                         StageOn(13, 34, {.tp_degree = 2}, NodeGpus(1, 2))};
  ExpectRefusal("alpa", planned, "stages: 2 GPUs of the last host");
}

TEST(ExportPlanTest, AlpaRefusesHostsOfDifferentSizes) {
  ExpectRefusal("alpa", TwoIslands(),
                "stages[1].gpus: a host of 8 GPUs; expected 4");
}

// A schedule that no export writes is named in its losses, or refused.
TEST(ExportPlanTest, NoTargetTakesAnotherScheduleSilently) {
  int num_written = 0;
  for (const Framework* target : ExportTargets()) {
    SCOPED_TRACE(target->name);
    for (PlannedTraining planned :
         {TwoReplicas(), OneMesh(), TwoIslands(), ForGalvatron()}) {
      planned.plan.schedule = PipelineSchedule::kZeroBubbleH1;
      const absl::StatusOr<FrameworkExport> written =
          ExportPlan(target->name, planned);
      if (written.ok()) {
        ++num_written;
        EXPECT_THAT(written->losses,
                    Contains(HasSubstr("schedule: zb-h1; becomes 1f1b")));
      }
      planned.plan.schedule = PipelineSchedule::kOneFOneB;
      planned.plan.warm_up_passes = {3, 1};
      EXPECT_FALSE(ExportPlan(target->name, planned).ok());
    }
  }
  EXPECT_GT(num_written, 6);
}

TEST(ExportPlanTest, SomeFrameworksHoldNoPlan) {
  for (const char* target : {"deepspeed", "nnscaler", "nanotron"}) {
    EXPECT_THAT(ExportPlan(target, TwoIslands()).status(),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(target)));
  }
  ExpectRefusal("gpipe", TwoIslands(), "expected one of flagscale, aceso");
}

// With tp 1, sequence parallelism has no effect, and it is written all the
// same.
TEST(ExportPlanTest, GalvatronAlwaysHasSequenceParallelismAndFlashAttention) {
  PlannedTraining planned = OneMesh();
  planned.training.flash_attention = false;
  planned.plan.stages = {
      StageOn(0, 13, {.dp_degree = 4}, NodeGpus(0, 4)),
      StageOn(13, 34, {.tp_degree = 2, .dp_degree = 2}, NodeGpus(2, 4))};
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("galvatron", planned));
  EXPECT_THAT(ContentOf(exported, "runtime.yaml"),
              AllOf(HasSubstr("sequence_parallel: true\n"),
                    HasSubstr("use_flash_attn: true\n")));
  EXPECT_THAT(
      exported.losses,
      AllOf(Contains("training.flash_attention: false; becomes true"),
            Contains("stages[1].plan.parallelism.sequence_parallel: false; "
                     "becomes true"),
            Not(Contains(HasSubstr("stages[0].plan.parallelism")))));
}

TEST(ExportPlanTest, GalvatronRefusesGpusWithoutFlashAttention) {
  PlannedTraining planned = ForGalvatron();
  for (Node& node : planned.cluster.nodes) {
    node.device.supports_flash_attention = false;
  }
  ExpectRefusal("galvatron", planned,
                "stages[0].gpus: T4; expected other GPUs: flash attention does "
                "not run on T4");
  EXPECT_EQ(WhatToDo("galvatron", planned), "");
}

// Two nodes of NVIDIA and one of AMD.
TEST(ExportPlanTest, NoLaunchSpansTwoCollectiveLibraries) {
  PlannedTraining planned = OneDp();
  planned.cluster.nodes[2].device.collective_library = CollectiveLibrary::kRccl;
  for (const Framework* target : ExportTargets()) {
    if (target->refuses_all) continue;
    ExpectRefusal(target->name.data(), planned,
                  "stages[1].gpus: V100-16 with rccl; expected nccl as T4 of "
                  "stages[0]");
  }
}

// Two stages of other sizes, tied embeddings of other tp, and two vendors.
TEST(ExportPlanTest, ARefusalNamesEveryObstacle) {
  PlannedTraining planned = TwoReplicas();
  planned.model.layers.front().tied_embeddings = true;
  planned.model.layers.back().tied_embeddings = true;
  planned.cluster.nodes[2].device.collective_library = CollectiveLibrary::kRccl;
  const absl::Status status = ExportPlan("flagscale", planned).status();
  EXPECT_THAT(
      status.message(),
      AllOf(HasSubstr(
                "flagscale: stages[1].plan.parallelism.tp_degree: 2; expected "
                "4 as in the first stage"),
            HasSubstr(". Also: stages[1].gpus: V100-16 with rccl")));
  EXPECT_EQ(WhatToDo("flagscale", planned), "plan with --runtime flagscale");
}

TEST(ExportPlanTest, NoPlanHelpsAModelThatAFrameworkDoesNotBuild) {
  PlannedTraining planned = TwoReplicas();  // Llama.
  EXPECT_THAT(ExportPlan("aceso", planned).status().message(),
              AllOf(HasSubstr("model.layers[1]: a gated MLP"),
                    HasSubstr("Also: model.layers[0].max_position_embeddings: "
                              "0; expected learned positions")));
  EXPECT_EQ(WhatToDo("aceso", planned), "");
  EXPECT_EQ(WhatToDo("deepspeed", planned), "");
}

}  // namespace
}  // namespace tangram
