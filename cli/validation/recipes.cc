#include "cli/validation/recipes.h"

#include <vector>

#include "absl/strings/match.h"
#include "cli/validation/stage_parts.h"
#include "cli/validation/text_match.h"

namespace tangram {
namespace {

// Values of Megatron-LM's --recompute-modules, as bits.
enum Modules : unsigned {
  kNoModules = 0,
  kMlaUpProj = 1,
  kMoeAct = 2,
  kLayerNorm = 4,
};

// Settings of the runs that match the first four members.
struct Recipe {
  absl::string_view model;      // Part of the column, ignoring case.
  absl::string_view gpu;        // Prefix of the column; "": any.
  absl::string_view precision;  // Prefix of the column; "": any.
  bool fsdp = false;            // True: only runs with FSDP.
  unsigned modules = kNoModules;
  double offloaded_activations = 0;  // Offloaded layers over all layers.
  bool bf16_moments = false;
};

// Llama 3 70B offloads 40 or 20 of its 80 layers.
constexpr Recipe kRecipes[] = {
    {.model = "DeepSeekV3", .modules = kMlaUpProj, .bf16_moments = true},
    {.model = "Kimi_K2", .modules = kMlaUpProj, .bf16_moments = true},
    {.model = "GPT OSS 120B", .gpu = "H100", .modules = kLayerNorm | kMoeAct},
    {.model = "GPT OSS 120B", .gpu = "B200", .modules = kLayerNorm | kMoeAct},
    {.model = "GPT OSS 120B",
     .gpu = "GB200",
     .precision = "bf16",
     .modules = kLayerNorm | kMoeAct},
    {.model = "LLAMA3_70B",
     .gpu = "GB200",
     .fsdp = true,
     .offloaded_activations = 0.5},
    {.model = "LLAMA3_70B",
     .gpu = "GB300",
     .fsdp = true,
     .offloaded_activations = 0.25}};

const Recipe* RecipeOf(const MeasuredRun& run) {
  if (!Mentions(run.framework, "Bridge")) return nullptr;
  for (const Recipe& recipe : kRecipes) {
    if (Mentions(run.model, recipe.model) &&
        absl::StartsWith(run.gpu, recipe.gpu) &&
        absl::StartsWith(run.precision, recipe.precision) &&
        (!recipe.fsdp || Mentions(run.zero, "FSDP"))) {
      return &recipe;
    }
  }
  return nullptr;
}

bool IsRecomputed(OpKind op, const LayerSpec& layer, unsigned modules) {
  switch (op) {
    case OpKind::kQkvProjection:
      return (modules & kMlaUpProj) != 0 && layer.kv_lora_rank > 0;
    case OpKind::kExpertActivation:
      return (modules & kMoeAct) != 0;
    case OpKind::kAttentionNorm:
    case OpKind::kMlpNorm:
    case OpKind::kMambaNorm:
      return (modules & kLayerNorm) != 0;
    default:
      return false;
  }
}

OpMask MaskOf(const LayerSpec& layer, unsigned modules) {
  const auto ops = OperatorsOf(layer);
  OpMask mask = kRecomputeNone;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (IsRecomputed(ops[i], layer, modules)) mask |= OpMask{1} << i;
  }
  return mask == kRecomputeNone ? mask : mask | kDropOutputs;
}

std::vector<RecomputeRun> RecomputeOf(const ModelSpec& model,
                                      const StagePlan& stage,
                                      unsigned modules) {
  std::vector<OpMask> masks;
  for (int l = 0; l < LayersTouched(stage.begin, stage.end); ++l) {
    masks.push_back(MaskOf(model.layers[stage.begin.layer + l], modules));
  }
  return JoinMasks(masks);
}

}  // namespace

void ApplyRecipe(const MeasuredRun& run, const ModelSpec& model,
                 TrainingOptions& training, PipelinePlan& plan) {
  const Recipe* recipe = RecipeOf(run);
  if (recipe == nullptr) return;
  training.bf16_moments = recipe->bf16_moments;
  for (PlacedStage& stage : plan.stages) {
    if (run.recompute.empty()) {
      stage.plan.recompute = RecomputeOf(model, stage.plan, recipe->modules);
    }
    if (run.offload.empty()) {
      stage.plan.offload.activations = recipe->offloaded_activations;
    }
  }
}

}  // namespace tangram
