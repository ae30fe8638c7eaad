#include <gmock/gmock.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "frameworks/export_plan.h"
#include "tests/unit/frameworks/two_islands.h"

// Plans on which a framework would hang or train wrongly. Each comes from a
// valid plan by one change. Errors that no export can make are tested at the
// end.
namespace tangram {
namespace {

using testing::ContentOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::NodeGpus;
using ::testing::Not;
using testing::OneDp;
using testing::StageOn;
using testing::StatusIs;
using testing::TestCluster;
using testing::TestDevice;
using testing::TwoIslands;

std::vector<GpuId> Gpus(std::initializer_list<std::vector<GpuId>> parts) {
  std::vector<GpuId> gpus;
  for (const std::vector<GpuId>& part : parts) {
    gpus.insert(gpus.end(), part.begin(), part.end());
  }
  return gpus;
}

StageParallelism& Degrees(PlannedTraining& planned, int stage) {
  return planned.plan.stages[stage].plan.parallelism;
}

// GPT-3 6.7B, untied: 8 GPUs of tp 4, dp 2 and 8 of tp 2, dp 4.
PlannedTraining Gpt() { return TwoIslands(); }

// Llama 2 7B of 4,096 tokens in bf16 on two nodes of 8, tp 4 and dp 2 in both
// stages.
PlannedTraining Llama() {
  PlannedTraining planned = TwoIslands();
  planned.cluster = TestCluster({{"n", 3, 8, TestDevice("A100")}});
  planned.model = *BuiltinModel("llama2-7b");
  planned.training.flash_attention = true;
  planned.training.sequence_length = 4096;
  planned.training.precision = Precision::kBf16;
  const StageParallelism tp4dp2{.tp_degree = 4, .dp_degree = 2};
  planned.plan.stages = {StageOn(0, 13, tp4dp2, NodeGpus(0, 8)),
                         StageOn(13, 34, tp4dp2, NodeGpus(1, 8))};
  return planned;
}

PlannedTraining Mixtral() {
  PlannedTraining planned = Llama();
  planned.model = *BuiltinModel("mixtral-8x7b");
  return planned;
}

// GPT-3 with 12 heads of 64: tp may be 2, 3, 4 or 6. Stages of 8 layers, tp
// and dp as given, on a node of 12 each.
PlannedTraining TwelveHeads(std::initializer_list<StageParallelism> degrees) {
  PlannedTraining planned = TwoIslands();
  planned.cluster = TestCluster({{"n", 3, 12, TestDevice("A100")}});
  for (LayerSpec& layer : planned.model.layers) {
    layer.hidden_size = 768;
    if (layer.kind != LayerKind::kTransformer) continue;
    layer.num_heads = layer.num_kv_heads = 12;
    layer.head_dim = 64;
    layer.ffn_hidden_size = 3072;
  }
  planned.training.global_batch_size = 120;
  planned.plan.pipeline_microbatch_size = 12;
  planned.plan.stages.clear();
  int begin = 0;
  for (const StageParallelism& p : degrees) {
    const int node = planned.plan.num_stages();
    const bool last = node + 1 == static_cast<int>(degrees.size());
    const int end = last ? 34 : begin + 9;
    planned.plan.stages.push_back(
        StageOn(begin, end, p, NodeGpus(node, p.tp_degree * p.dp_degree)));
    begin = end;
  }
  return planned;
}

StageParallelism TpDp(int tp, int dp) {
  return {.tp_degree = tp, .dp_degree = dp};
}

struct Guard {
  const char* name;
  const char* target;
  std::function<PlannedTraining()> good;
  std::function<void(PlannedTraining&)> spoil;
  const char* message;
};

void PrintTo(const Guard& guard, std::ostream* out) {
  *out << guard.target << ": " << guard.name;
}

class ExportGuardsTest : public ::testing::TestWithParam<Guard> {};

TEST_P(ExportGuardsTest, Refuses) {
  PlannedTraining planned = GetParam().good();
  ASSERT_THAT(ExportPlan(GetParam().target, planned).status(), IsOk());
  GetParam().spoil(planned);
  EXPECT_THAT(ExportPlan(GetParam().target, planned).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(GetParam().message)));
}

std::string NameOf(const ::testing::TestParamInfo<Guard>& info) {
  return std::string(info.param.target) + "_" + info.param.name;
}

void Interleave(PlannedTraining& in) {
  const std::vector<GpuId> a = in.plan.stages[0].gpus;
  const std::vector<GpuId> b = in.plan.stages[1].gpus;
  const StageParallelism p = Degrees(in, 0);
  const StageParallelism q = Degrees(in, 1);
  in.plan.schedule = PipelineSchedule::kInterleaved;
  in.plan.virtual_stages = 2;
  in.plan.stages = {StageOn(0, 9, p, a), StageOn(9, 17, q, b),
                    StageOn(17, 25, p, a), StageOn(25, 34, q, b)};
}

// Takes 16 of the 24 GPUs on three nodes; the second node has ranks of both
// stages.
void SplitGroups(PlannedTraining& in) {
  in.plan.stages[0].gpus = Gpus({NodeGpus(0, 6), NodeGpus(1, 2)});
  in.plan.stages[1].gpus = Gpus({NodeGpus(1, 6, 2), NodeGpus(2, 2)});
}

void ComeBack(PlannedTraining& in) {
  in.plan.stages[0].gpus = Gpus({NodeGpus(0, 4), NodeGpus(1, 4)});
  in.plan.stages[1].gpus = Gpus({NodeGpus(0, 4, 4), NodeGpus(1, 4, 4)});
}

void Tie(PlannedTraining& in) {
  in.model.layers.front().tied_embeddings = true;
  in.model.layers.back().tied_embeddings = true;
}

INSTANTIATE_TEST_SUITE_P(
    FlagScale, ExportGuardsTest,
    ::testing::Values(
        Guard{"WholeMicrobatchOfEveryReplica", "flagscale", Gpt,
              [](auto& in) { in.plan.pipeline_microbatch_size = 2; },
              "stages[1].plan.parallelism.dp_degree: 4; expected a divisor of "
              "the pipeline microbatch, 2"},
        Guard{"WholeMicrobatchesOfTheBatch", "flagscale", Gpt,
              [](auto& in) { in.training.global_batch_size = 130; },
              "pipeline_microbatch_size: 4; expected a divisor of the global "
              "batch size, 130"},
        Guard{"OneContextDegree", "flagscale", Gpt,
              [](auto& in) {
                Degrees(in, 1) = {
                    .tp_degree = 2, .cp_degree = 2, .dp_degree = 2};
              },
              "stages[1].plan.parallelism.cp_degree: 2; expected 1"},
        Guard{"OneTpOfTiedEmbeddings", "flagscale", Gpt, Tie,
              "stages[1].plan.parallelism.tp_degree: 2; expected 4"},
        Guard{"MatchingDpOfTiedEmbeddings", "flagscale",
              [] {
                return TwelveHeads({TpDp(2, 3), TpDp(2, 4)});
              },
              Tie,
              "stages[1].plan.parallelism.dp_degree: 4; expected a divisor"},
        Guard{"ExpertsInAllMeshesOrNone", "flagscale", Mixtral,
              [](auto& in) { Degrees(in, 1).ep_degree = 2; },
              "stages[1].plan.parallelism.ep_degree: 2; expected 1"},
        Guard{"NoVirtualStages", "flagscale", Gpt, Interleave,
              "virtual_stages: 2; expected 1"},
        Guard{"OneDeviceTypeInAMesh", "flagscale", Gpt,
              [](auto& in) {
                in.plan.stages[0].gpus = Gpus({NodeGpus(1, 4), NodeGpus(2, 4)});
                in.plan.stages[1] =
                    StageOn(13, 34, TpDp(2, 2), NodeGpus(2, 4, 4));
              },
              "stages[0].gpus: GPUs of types"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Aceso, ExportGuardsTest,
    ::testing::Values(
        Guard{"TpOfNeighboursDivide", "aceso",
              [] {
                return TwelveHeads({TpDp(4, 2), TpDp(2, 2)});
              },
              [](auto& in) {
                in.plan.stages[1] = StageOn(9, 34, TpDp(3, 2), NodeGpus(1, 6));
              },
              "stages[1].plan.parallelism.tp_degree: 3; expected a divisor or "
              "multiple of the 4 of stages[0]"},
        Guard{"OneDp", "aceso",
              [] {
                return TwelveHeads({TpDp(2, 2), TpDp(2, 2)});
              },
              [](auto& in) {
                in.plan.stages[1] = StageOn(9, 34, TpDp(2, 4), NodeGpus(1, 8));
              },
              "stages[1].plan.parallelism.dp_degree: 4; expected 2 as in the "
              "first "
              "stage"},
        Guard{"LastAndFirstStageAreNeighbours", "aceso",
              [] {
                return TwelveHeads({TpDp(2, 2), TpDp(6, 2), TpDp(2, 2)});
              },
              [](auto& in) {
                in.plan.stages[2] = StageOn(18, 34, TpDp(3, 2), NodeGpus(2, 6));
              },
              "stages[0].plan.parallelism.tp_degree: 2; expected a divisor or "
              "multiple of the 3 of stages[2]"},
        Guard{"WholeMicrobatchOfEveryOperator", "aceso", OneDp,
              [](auto& in) { in.plan.pipeline_microbatch_size = 1; },
              "stages[0].plan.parallelism.dp_degree: 2; expected a divisor"},
        Guard{"GpusInFours", "aceso",
              [] {
                return TwelveHeads({TpDp(2, 1), TpDp(2, 1)});
              },
              [](auto& in) {
                in.plan.stages[1] = StageOn(9, 34, TpDp(4, 1), NodeGpus(1, 4));
              },
              "stages: 6 GPUs; expected 1, 2 or a multiple of 4"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Galvatron, ExportGuardsTest,
    ::testing::Values(
        Guard{"FlashAttentionOnAllGpus", "galvatron", Gpt,
              [](auto& in) {
                in.cluster.nodes[2].device.supports_flash_attention = false;
              },
              "stages[1].gpus: V100-16; expected other GPUs: flash attention "
              "does not run on V100-16"},
        Guard{"EqualStages", "galvatron", Gpt,
              [](auto& in) {
                in.plan.stages[1] = StageOn(13, 34, TpDp(2, 2), NodeGpus(2, 4));
              },
              "stages[1].gpus: 4 GPUs; expected 8"},
        // Its smallest tp and cp belong to different stages: 8 replicas.
        Guard{"WholeBatchOfTheLeastDividedLayer", "galvatron",
              [] {
                PlannedTraining in = Llama();
                in.plan.pipeline_microbatch_size = 2;
                in.plan.stages = {
                    StageOn(0, 9, TpDp(4, 2), NodeGpus(0, 8)),
                    StageOn(9, 18, {.cp_degree = 4, .dp_degree = 2},
                            NodeGpus(1, 8)),
                    StageOn(18, 34, TpDp(4, 2), NodeGpus(2, 8))};
                return in;
              },
              [](auto& in) { in.training.global_batch_size = 12; },
              "training.global_batch_size: 12; expected a multiple of the 8"},
        Guard{"OneContextDegreeOfEmbeddingAndHead", "galvatron", Llama,
              [](auto& in) {
                Degrees(in, 1) = {
                    .tp_degree = 2, .cp_degree = 2, .dp_degree = 2};
              },
              "stages[1].plan.parallelism.cp_degree: 2; expected 1"},
        Guard{"OptionsThatItDropsUnsaid", "galvatron", Llama,
              [](auto& in) { in.model.layers[5].sliding_window = 1024; },
              "model.layers[5]: a sliding window"},
        Guard{"ItsOwnOptimizer", "galvatron", Llama,
              [](auto& in) { in.training.optimizer = Optimizer::kSgd; },
              "training.optimizer: sgd"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    SailorAndFlashFlex, ExportGuardsTest,
    ::testing::Values(
        Guard{"OneDataDegree", "sailor", Llama,
              [](auto& in) { Degrees(in, 1) = TpDp(2, 4); },
              "stages[1].plan.parallelism.dp_degree: 4; expected 2"},
        Guard{"OneTpOfTiedEmbeddings", "sailor",
              [] {
                PlannedTraining in = Llama();
                in.plan.stages[1] = StageOn(13, 34, TpDp(2, 2), NodeGpus(1, 4));
                return in;
              },
              Tie, "stages[1].plan.parallelism.tp_degree: 2; expected 4"},
        Guard{"HeadsOfEveryStage", "flashflex", Llama,
              [](auto& in) {
                in.plan.stages[1] = StageOn(13, 34, TpDp(3, 2), NodeGpus(1, 6));
              },
              "stages[1].plan.parallelism.tp_degree: 3; expected a divisor of "
              "the number of heads, 32"},
        Guard{"ItsSequenceLength", "flashflex", Llama,
              [](auto& in) { in.training.sequence_length = 2048; },
              "training.sequence_length: 2048; expected 4096"},
        Guard{"OneDataDegree", "flashflex", Llama,
              [](auto& in) { Degrees(in, 1) = TpDp(2, 4); },
              "stages[1].plan.parallelism.dp_degree: 4; expected 2"},
        Guard{"OneDataDegree", "hetu", Llama,
              [](auto& in) { Degrees(in, 1) = TpDp(2, 4); },
              "stages[1].plan.parallelism.dp_degree: 4; expected 2"},
        Guard{"HeadsOfKeysAndValues", "hetu", Llama,
              [](auto& in) {
                for (LayerSpec& layer : in.model.layers) {
                  if (layer.kind != LayerKind::kTransformer) continue;
                  layer.num_kv_heads = 2;
                }
              },
              "stages[0].plan.parallelism.tp_degree: 4; expected a divisor of "
              "16 and of the 2 heads of keys and values"},
        Guard{"FlashAttentionOnAllGpus", "hetu", Llama,
              [](auto& in) {
                in.cluster.nodes[1].device.supports_flash_attention = false;
              },
              "stages[1].gpus: A100; expected other GPUs: flash attention does "
              "not run on A100, and Hetu has no other attention"},
        Guard{"ItsPrecisions", "hetu", Llama,
              [](auto& in) { in.training.precision = Precision::kFp16; },
              "training.precision: fp16; expected bf16 or fp32"},
        Guard{"ItsOptimizer", "hetu", Llama,
              [](auto& in) { in.training.optimizer = Optimizer::kSgd; },
              "training.optimizer: sgd; expected adam"},
        Guard{"UntiedEmbeddings", "hetu", Llama, Tie,
              "model.layers[0].tied_embeddings: true; expected false"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    OneMesh, ExportGuardsTest,
    ::testing::Values(
        Guard{"EqualStages", "megatron", Gpt,
              [](auto& in) {
                in.plan.stages[1] = StageOn(13, 34, TpDp(2, 2), NodeGpus(2, 4));
              },
              "stages[1].gpus: 4 GPUs; expected 8"},
        Guard{"EqualStages", "torchtitan", Llama,
              [](auto& in) {
                in.plan.stages[1] = StageOn(13, 34, TpDp(2, 2), NodeGpus(1, 4));
              },
              "stages[1].gpus: 4 GPUs; expected 8"},
        Guard{"NoFp16", "torchtitan", Llama,
              [](auto& in) { in.training.precision = Precision::kFp16; },
              "training.precision: fp16"},
        Guard{"NoSharedWeights", "torchtitan", Llama, Tie,
              "model.layers[0].tied_embeddings: true"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Alpa, ExportGuardsTest,
    ::testing::Values(
        Guard{"PartsFillAHost", "alpa", Llama,
              [](auto& in) {
                in.plan.stages[1] = StageOn(13, 34, TpDp(4, 1), NodeGpus(1, 4));
              },
              "stages: 4 GPUs of the last host; expected all 8"},
        Guard{"WholeHostsOrAPart", "alpa", Llama, SplitGroups,
              "stages[0].gpus: 8 GPUs on 2 hosts"},
        // Alpa gives the larger mesh the first host instead of its own.
        Guard{"HostsByTheSizeOfStages", "alpa", Llama,
              [](auto& in) {
                in.plan.stages = {
                    StageOn(0, 9, TpDp(2, 2), NodeGpus(0, 4)),
                    StageOn(9, 18, TpDp(2, 2), NodeGpus(1, 4)),
                    StageOn(18, 26, TpDp(2, 2), NodeGpus(0, 4, 4)),
                    StageOn(26, 34, TpDp(2, 2), NodeGpus(1, 4, 4))};
              },
              "GPUs of host"},
        Guard{"HostsOfOneSize", "alpa", Llama,
              [](auto& in) {
                in.cluster = TestCluster({{"a", 1, 8, TestDevice("A100")},
                                          {"b", 2, 4, TestDevice("A100")}});
                in.plan.stages[1].gpus = Gpus({NodeGpus(1, 4), NodeGpus(2, 4)});
              },
              "stages[1].gpus: a host of 4 GPUs; expected 8"}),
    NameOf);

// Guards for every framework.
std::vector<Guard> ForAll() {
  struct Common {
    const char* name;
    void (*spoil)(PlannedTraining&);
    const char* message;
  };
  const Common commons[] = {
      {"Heads",
       [](PlannedTraining& in) {
         for (LayerSpec& layer : in.model.layers) {
           if (layer.num_heads > 0) layer.num_heads = 30;
         }
       },
       "stages[0].plan.parallelism.tp_degree: 4; expected a divisor of the "
       "number of heads, 30"},
      {"KeyValueHeads",
       [](PlannedTraining& in) {
         for (LayerSpec& layer : in.model.layers) {
           if (layer.num_heads > 0) layer.num_kv_heads = 6;
         }
       },
       "stages[0].plan.parallelism.tp_degree: 4; expected a divisor or a "
       "multiple "
       "of the number of key and value heads, 6"},
      {"OneCollectiveLibrary",
       [](PlannedTraining& in) {
         const GpuId gpu = in.plan.stages[1].gpus.back();
         in.cluster.nodes[gpu.node].device.collective_library =
             CollectiveLibrary::kRccl;
       },
       "with rccl; expected nccl as "},
      {"SumOfLayers",
       [](PlannedTraining& in) { --in.plan.stages[0].plan.end.layer; },
       "stages[1].plan.begin: layer 13; expected layer 12"},
      {"SumOfGpus",
       [](PlannedTraining& in) { in.plan.stages[0].gpus.pop_back(); },
       "stages[0].plan.parallelism: tp 4 x cp 1 x dp 2; expected at most the 7 "
       "GPUs"}};
  std::vector<Guard> guards;
  for (const Common& common : commons) {
    for (const char* target : {"flagscale", "megatron", "galvatron"}) {
      guards.push_back(
          {common.name, target, Gpt, common.spoil, common.message});
    }
    guards.push_back(
        {common.name, "aceso", OneDp, common.spoil, common.message});
    for (const char* target :
         {"sailor", "flashflex", "torchtitan", "alpa", "hetu"}) {
      guards.push_back(
          {common.name, target, Llama, common.spoil, common.message});
    }
  }
  return guards;
}

INSTANTIATE_TEST_SUITE_P(All, ExportGuardsTest, ::testing::ValuesIn(ForAll()),
                         NameOf);

// Guards for the frameworks that know how tensors are split.
std::vector<Guard> ForSome() {
  std::vector<Guard> guards;
  for (const char* target : {"flagscale", "megatron", "galvatron"}) {
    guards.push_back({"Experts", target, Mixtral,
                      [](auto& in) {
                        for (LayerSpec& layer : in.model.layers) {
                          if (layer.is_moe()) layer.num_experts = 7;
                        }
                        Degrees(in, 0).ep_degree = 2;
                        Degrees(in, 1).ep_degree = 2;
                      },
                      "stages[0].plan.parallelism.ep_degree: 2; expected a "
                      "divisor of the number of experts, 7"});
    guards.push_back({"HalvesOfContextParts", target, Llama,
                      [](auto& in) {
                        in.training.sequence_length = 4090;
                        for (int i : {0, 1}) {
                          Degrees(in, i) = {
                              .tp_degree = 2, .cp_degree = 2, .dp_degree = 2};
                        }
                      },
                      "stages[0].plan.parallelism.cp_degree: 2; expected twice "
                      "it to divide the sequence length, 4090"});
    guards.push_back({"PartsOfSequenceParallelism", target, Llama,
                      [](auto& in) {
                        in.training.sequence_length = 4090;
                        Degrees(in, 1).sequence_parallel = true;
                      },
                      "parallelism.tp_degree: 4; expected a divisor of the "
                      "4090 tokens"});
  }
  guards.push_back({"PartsOfAMicrobatch", "torchtitan", Llama,
                    [](auto& in) {
                      in.training.sequence_length = 4092;
                      in.plan.pipeline_microbatch_size = 2;
                      for (int i : {0, 1}) {
                        Degrees(in, i) = {.tp_degree = 2,
                                          .cp_degree = 2,
                                          .dp_degree = 2,
                                          .sequence_parallel = true};
                      }
                    },
                    "training.sequence_length: 4092; expected 4092 tokens of a "
                    "microbatch to be cut into 8 parts"});
  for (const char* target : {"flashflex", "torchtitan", "hetu"}) {
    guards.push_back({"Vocabulary", target, Llama,
                      [](auto& in) {
                        in.model.layers.front().vocab_size = 32001;
                        in.model.layers.back().vocab_size = 32001;
                      },
                      "stages[0].plan.parallelism.tp_degree: 4; expected a "
                      "divisor of the vocabulary, 32001"});
  }
  guards.push_back({"TensorParallelGroupsOnOneHost", "aceso",
                    [] {
                      PlannedTraining in = Llama();
                      in.model = Gpt().model;
                      return in;
                    },
                    SplitGroups,
                    "stages[0].gpus: 2 of the 4 ranks of a tensor-parallel "
                    "group on host n-0; expected all of them"});
  for (const char* target : {"flagscale", "megatron", "galvatron", "sailor",
                             "flashflex", "torchtitan", "hetu"}) {
    guards.push_back({"TensorParallelGroupsOnOneHost", target, Llama,
                      SplitGroups,
                      "stages[0].gpus: 2 of the 4 ranks of a tensor-parallel "
                      "group on host n-0; expected all of them"});
  }
  // Those that are told the ranks of each stage take them in any order.
  for (const char* target :
       {"flagscale", "megatron", "galvatron", "sailor", "torchtitan"}) {
    guards.push_back({"RanksInTheOrderOfHosts", target, Llama, ComeBack,
                      "stages[1].gpus: back on host n-0"});
  }
  return guards;
}

INSTANTIATE_TEST_SUITE_P(Split, ExportGuardsTest,
                         ::testing::ValuesIn(ForSome()), NameOf);

// The values below cannot be written wrongly, because they are counted from the
// plan.

TEST(ExportCountsTest, FlagScaleStagesLayersAndMicrobatches) {
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("flagscale", Gpt()));
  const std::string yaml = ContentOf(exported, "train/plan.yaml");
  EXPECT_THAT(yaml, HasSubstr("pipeline_model_parallel_size: 2 "));
  EXPECT_THAT(yaml, HasSubstr("hetero_process_meshes: "
                              "[4, 1, 1, 2, 1, 2, 1, 1, 4, 1]\n"));
  EXPECT_THAT(yaml, HasSubstr("hetero_pipeline_layer_split: [12, 20]\n"));
  // 128 sequences in microbatches of 4, for each stage.
  EXPECT_THAT(yaml, HasSubstr("recompute_num_layers_per_stage_micro_batch:\n"
                              "      - [1, 32, 12]\n      - [1, 32, 0]\n"));
}

// The host file, the meshes and their types agree.
TEST(ExportCountsTest, FlagScaleTypesInTheOrderOfRanks) {
  PlannedTraining in = Gpt();
  in.plan.stages = {StageOn(0, 9, TpDp(4, 1), NodeGpus(0, 4)),
                    StageOn(9, 17, TpDp(4, 1), NodeGpus(2, 4)),
                    StageOn(17, 34, TpDp(4, 1), NodeGpus(1, 4))};
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("flagscale", in));
  EXPECT_EQ(ContentOf(exported, "hostfile"),
            "t4-0 slots=4 type=T4\nv100-0 slots=4 type=V100-16\n"
            "t4-1 slots=4 type=T4-again1\n");
  EXPECT_THAT(ContentOf(exported, "train/plan.yaml"),
              HasSubstr("hetero_device_types: [T4, V100-16, T4-again1]\n"));
}

// Ranks of a host are next to each other, and stages name their ranks.
TEST(ExportCountsTest, FlashFlexTakesStagesThatComeBackToAHost) {
  PlannedTraining in = Llama();
  ComeBack(in);
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("flashflex", in));
  EXPECT_EQ(ContentOf(exported, "hostfile"),
            "n-0 slots=8 type=A100\nn-1 slots=8 type=A100\n");
  EXPECT_THAT(ContentOf(exported, "flashflex.json"),
              HasSubstr("\"pp_layouts\": [[[0,1,2,3],[4,5,6,7]],"
                        "[[8,9,10,11],[12,13,14,15]]]"));
}

TEST(ExportCountsTest, MegatronLayoutHasAllLayersAndItsEmbedding) {
  PlannedTraining in = Gpt();
  Degrees(in, 0) = Degrees(in, 1);
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("megatron", in));
  const std::string text = ContentOf(exported, "megatron.args");
  EXPECT_THAT(text, HasSubstr("--num-layers 32\n"));
  EXPECT_THAT(text, HasSubstr("--pipeline-model-parallel-layout "
                              "Et*12|t*20L\n"));
  EXPECT_THAT(text, Not(HasSubstr("--account-for")));
}

}  // namespace
}  // namespace tangram
