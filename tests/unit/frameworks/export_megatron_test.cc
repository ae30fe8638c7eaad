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
using ::testing::Not;
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

TEST(ExportMegatronTest, HoldsShardsOverAPartOfTheDataRanks) {
  PlannedTraining planned = TwoIslands();
  const StageParallelism degrees{.dp_degree = 4, .zero_stage = 1};
  planned.plan.stages = {StageOn(0, 13, degrees, NodeGpus(0, 4)),
                         StageOn(13, 34, degrees, NodeGpus(1, 4))};
  for (PlacedStage& stage : planned.plan.stages) {
    stage.plan.parallelism.zero_degree = 2;
  }
  ASSERT_OK_AND_ASSIGN(FrameworkExport exported, ExportMegatron(planned));
  EXPECT_THAT(exported.losses, IsEmpty());
  EXPECT_THAT(ContentOf(exported, "megatron.args"),
              HasSubstr("--use-distributed-optimizer\n"
                        "--num-distributed-optimizer-instances 2\n"));
  // All of them is as without.
  for (PlacedStage& stage : planned.plan.stages) {
    stage.plan.parallelism.zero_degree = 4;
  }
  ASSERT_OK_AND_ASSIGN(exported, ExportMegatron(planned));
  EXPECT_THAT(exported.losses, IsEmpty());
  EXPECT_THAT(ContentOf(exported, "megatron.args"),
              Not(HasSubstr("instances")));
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

// Layers M, *, -, E and so on, of one part each.
ModelSpec HybridModel(absl::string_view letters) {
  ModelSpec model = *BuiltinModel("llama2-7b");
  const LayerSpec base = model.layers[1];
  std::vector<LayerSpec> layers;
  for (const char letter : letters) {
    LayerSpec layer = {.hidden_size = base.hidden_size,
                       .mixer = MixerKind::kNone,
                       .gated_mlp = base.gated_mlp};
    if (letter == 'M') {
      layer.mixer = MixerKind::kMamba2;
      layer.mamba = {.inner_size = 8192,
                     .head_dim = 64,
                     .groups = 8,
                     .state_size = 128,
                     .conv_kernel = 4};
    }
    if (letter == '*') {
      layer = base;
      layer.ffn_hidden_size = 0;
    }
    layer.no_mlp = letter == 'M' || letter == '*';
    if (letter == '-') layer.ffn_hidden_size = 16384;
    if (letter == 'E') {
      layer.num_experts = 8;
      layer.experts_per_token = 2;
      layer.expert_ffn_hidden_size = 1024;
    }
    layers.push_back(layer);
  }
  model.layers.erase(model.layers.begin() + 1, model.layers.end() - 1);
  model.layers.insert(model.layers.begin() + 1, layers.begin(), layers.end());
  model.details.no_positions = true;
  return model;
}

PlannedTraining PlannedHybrid() {
  PlannedTraining planned = TwoIslands();
  planned.model = HybridModel("MEM*-M");
  planned.training.precision = Precision::kBf16;
  const StageParallelism degrees{.tp_degree = 2, .dp_degree = 2};
  planned.plan.stages = {StageOn(0, 4, degrees, NodeGpus(0, 4)),
                         StageOn(4, 8, degrees, NodeGpus(2, 4))};
  return planned;
}

TEST(ExportMegatronTest, WritesAPatternOfLettersForHybrids) {
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportMegatron(PlannedHybrid()));
  EXPECT_THAT(exported.losses, IsEmpty());
  EXPECT_THAT(
      ContentOf(exported, "megatron.args"),
      AllOf(HasSubstr("--hybrid-layer-pattern MEM|*-M\n--spec "
                      "megatron.core.models.hybrid.hybrid_layer_specs "
                      "hybrid_stack_spec\n"),
            HasSubstr("--mamba-num-heads 128\n--mamba-head-dim 64\n"
                      "--mamba-num-groups 8\n--mamba-state-dim 128\n"),
            HasSubstr("--ffn-hidden-size 16384\n--num-attention-heads 32\n"),
            HasSubstr("--num-experts 8\n"),
            HasSubstr("--position-embedding-type none\n"),
            Not(HasSubstr("--num-layers")), Not(HasSubstr("layout")),
            Not(HasSubstr("--moe-layer-freq"))));
  EXPECT_THAT(ContentOf(exported, "launch.sh"),
              HasSubstr("pretrain_hybrid.py"));
}

TEST(ExportMegatronTest, WritesTheWidthOfExperts) {
  PlannedTraining planned = PlannedHybrid();
  ASSERT_OK_AND_ASSIGN(const FrameworkExport plain, ExportMegatron(planned));
  EXPECT_THAT(ContentOf(plain, "megatron.args"),
              Not(HasSubstr("moe-latent-size")));
  for (LayerSpec& layer : planned.model.layers) {
    if (layer.is_moe()) layer.expert_latent_size = 512;
  }
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported, ExportMegatron(planned));
  EXPECT_THAT(exported.losses, IsEmpty());
  EXPECT_THAT(ContentOf(exported, "megatron.args"),
              HasSubstr("--moe-ffn-hidden-size 1024\n--moe-latent-size 512\n"));
}

TEST(ExportMegatronTest, CountsLettersToRecompute) {
  PlannedTraining planned = PlannedHybrid();
  // A mixer and an MLP in a layer are two letters.
  for (size_t l = 1; l + 1 < planned.model.layers.size(); ++l) {
    LayerSpec& layer = planned.model.layers[l];
    const bool attention = layer.mixer == MixerKind::kAttention;
    layer = planned.model.layers[attention ? l : 1];
    layer.no_mlp = false;
    layer.ffn_hidden_size = 4096;
  }
  for (PlacedStage& stage : planned.plan.stages) {
    stage.plan.recompute.clear();
    for (int l = stage.plan.begin.layer; l < stage.plan.end.layer; ++l) {
      const bool whole = l == 1 || l == 4;
      stage.plan.recompute.push_back(
          {.num_layers = 1,
           .mask = whole ? WholeLayerMask(planned.model.layers[l])
                         : kRecomputeNone});
    }
  }
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported, ExportMegatron(planned));
  EXPECT_THAT(ContentOf(exported, "megatron.args"),
              AllOf(HasSubstr("--hybrid-layer-pattern M-M-M-|*-M-M-\n"),
                    HasSubstr("--recompute-method block\n"
                              "--recompute-num-layers 2\n")));
}

TEST(ExportMegatronTest, RefusesMambaThatMegatronLacks) {
  PlannedTraining planned = PlannedHybrid();
  for (LayerSpec& layer : planned.model.layers) {
    if (layer.is_mamba()) layer.mamba.conv_kernel = 3;
  }
  EXPECT_THAT(ExportMegatron(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("mamba.conv_kernel: 3; expected 4")));
  for (LayerSpec& layer : planned.model.layers) {
    if (!layer.is_mamba()) continue;
    layer.mixer = MixerKind::kMamba;
    layer.mamba = {
        .inner_size = 8192, .state_size = 16, .conv_kernel = 4, .dt_rank = 256};
  }
  EXPECT_THAT(ExportMegatron(planned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("model.layers[1]: a Mamba mixer of the first "
                                 "version; expected Mamba-2")));
}

TEST(ExportMegatronTest, RefusesAttentionThatItsHybridsLack) {
  for (const auto& [change, what] :
       std::vector<std::pair<void (*)(LayerSpec&), std::string>>{
           {[](LayerSpec& layer) { layer.qk_norm = true; }, "norms of queries"},
           {[](LayerSpec& layer) { layer.sliding_window = 512; },
            "a sliding window"}}) {
    PlannedTraining planned = PlannedHybrid();
    for (LayerSpec& layer : planned.model.layers) {
      if (layer.kind == LayerKind::kTransformer &&
          layer.mixer == MixerKind::kAttention) {
        change(layer);
      }
    }
    EXPECT_THAT(ExportMegatron(planned),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  }
}

TEST(ExportPlanTest, OtherTargetsRefuseExpertsOfAnotherWidth) {
  PlannedTraining planned = TwoIslands();
  for (LayerSpec& layer : planned.model.layers) {
    if (layer.kind != LayerKind::kTransformer) continue;
    layer.ffn_hidden_size = 0;
    layer.num_experts = 8;
    layer.experts_per_token = 2;
    layer.expert_ffn_hidden_size = 1024;
    layer.expert_latent_size = 512;
  }
  for (const char* const target :
       {"flagscale", "aceso", "galvatron", "torchtitan", "alpa", "sailor",
        "flashflex", "hetu"}) {
    EXPECT_THAT(ExportPlan(target, planned),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("model.layers[1].expert_latent_size: 512; "
                                   "expected 0, experts as wide as the layer")))
        << target;
  }
}

TEST(ExportPlanTest, OtherTargetsRefuseHybrids) {
  for (const char* const target :
       {"flagscale", "galvatron", "torchtitan", "alpa", "sailor", "hetu"}) {
    EXPECT_THAT(ExportPlan(target, PlannedHybrid()),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("model.layers[1]: a Mamba mixer; expected "
                                   "attention with an MLP or experts")))
        << target;
  }
}

}  // namespace
}  // namespace tangram
