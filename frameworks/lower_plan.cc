#include "frameworks/lower_plan.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/domain/recompute_masks.h"

namespace tangram {
namespace {

// Rounds a cut inside attention or MLP to the nearer residual cut; of equally
// near ones, to the later.
OperatorCut NearestResidual(const ModelSpec& model, OperatorCut cut) {
  if (cut.op == 0) return cut;
  const LayerSpec& layer = model.layers[cut.layer];
  const int num_ops = static_cast<int>(OperatorsOf(layer).size());
  int before = cut.op;
  while (!IsResidualCut(layer, before)) --before;
  int after = cut.op;
  while (after < num_ops && !IsResidualCut(layer, after)) ++after;
  const int nearest = cut.op - before < after - cut.op ? before : after;
  if (nearest == num_ops) return {.layer = cut.layer + 1, .op = 0};
  return {.layer = cut.layer, .op = nearest};
}

// Moves the cuts of all stages to where `round` puts them, with the masks that
// the operators had. `least` is the least that a stage may be. An error leaves
// the plan as it was.
absl::Status RoundCuts(
    const ModelSpec& model,
    absl::FunctionRef<OperatorCut(const ModelSpec&, OperatorCut)> round,
    absl::string_view least, PipelinePlan& plan) {
  const std::vector<OpMask> masks = LayerMasks(model, plan);
  PipelinePlan rounded = plan;
  for (size_t i = 0; i < rounded.stages.size(); ++i) {
    StagePlan& stage = rounded.stages[i].plan;
    stage.begin = round(model, stage.begin);
    stage.end = round(model, stage.end);
    if (stage.begin < stage.end) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "stages[", i, "]: less than ", least, "; expected at least one"));
  }
  plan = std::move(rounded);
  SetLayerMasks(masks, plan);
  return absl::OkStatus();
}

// Rounds a cut inside a layer to the nearer end of the layer.
OperatorCut NearestLayer(const ModelSpec& model, OperatorCut cut) {
  if (cut.op == 0) return cut;
  const int num_ops =
      static_cast<int>(OperatorsOf(model.layers[cut.layer]).size());
  return {.layer = 2 * cut.op < num_ops ? cut.layer : cut.layer + 1, .op = 0};
}

bool IsTransformer(const ModelSpec& model, int layer) {
  return model.layers[layer].kind == LayerKind::kTransformer;
}

}  // namespace

PipelinePlan CanonicalPlan(const ModelSpec& model, PipelinePlan plan) {
  for (PlacedStage& stage : plan.stages) {
    StageParallelism& p = stage.plan.parallelism;
    if (p.tp_degree == 1) p.sequence_parallel = false;
    if (p.num_replicas() == 1) p.zero_stage = 0;
    if (p.num_shard_groups() == 1) p.zero_degree = 0;
    ChangeMasks(
        [&](int layer, OpMask mask) {
          mask &= OperatorsIn(stage.plan, layer);
          return (mask & WholeLayerMask(model.layers[layer])) == 0
                     ? kRecomputeNone
                     : mask;
        },
        stage.plan);
  }
  return plan;
}

void ChangeMasks(absl::FunctionRef<OpMask(int layer, OpMask mask)> change,
                 StagePlan& stage) {
  std::vector<RecomputeRun> changed;
  int layer = stage.begin.layer;
  for (const RecomputeRun& run : stage.recompute) {
    for (int i = 0; i < run.num_layers; ++i, ++layer) {
      AppendMask(change(layer, run.mask), changed);
    }
  }
  stage.recompute = std::move(changed);
}

std::vector<OpMask> LayerMasks(const ModelSpec& model,
                               const PipelinePlan& plan) {
  std::vector<OpMask> masks(model.layers.size(), kRecomputeNone);
  for (const PlacedStage& stage : plan.stages) {
    int layer = stage.plan.begin.layer;
    for (const RecomputeRun& run : stage.plan.recompute) {
      for (int i = 0; i < run.num_layers; ++i) masks[layer++] |= run.mask;
    }
  }
  return masks;
}

void SetLayerMasks(const std::vector<OpMask>& masks, PipelinePlan& plan) {
  for (PlacedStage& stage : plan.stages) {
    stage.plan.recompute.clear();
    const int end = stage.plan.begin.layer +
                    LayersTouched(stage.plan.begin, stage.plan.end);
    for (int l = stage.plan.begin.layer; l < end; ++l) {
      AppendMask(masks[l], stage.plan.recompute);
    }
  }
}

LayerSpan TransformerLayers(const ModelSpec& model, const StagePlan& stage) {
  LayerSpan span{.first = stage.begin.layer, .last = stage.end.layer};
  while (span.size() > 0 && !IsTransformer(model, span.first)) ++span.first;
  while (span.size() > 0 && !IsTransformer(model, span.last - 1)) --span.last;
  return span;
}

bool HoldsEmbedding(const StagePlan& stage) { return stage.begin.layer == 0; }

bool HoldsHead(const ModelSpec& model, const StagePlan& stage) {
  return stage.end.layer == model.num_layers();
}

absl::Status RoundToLayers(const ModelSpec& model, PipelinePlan& plan) {
  return RoundCuts(model, NearestLayer, "a layer", plan);
}

absl::Status RoundToResiduals(const ModelSpec& model, PipelinePlan& plan) {
  TANGRAM_RETURN_IF_ERROR(
      RoundCuts(model, NearestResidual, "half a layer", plan));
  plan = CanonicalPlan(model, std::move(plan));
  return absl::OkStatus();
}

absl::Status RequireTransformerLayers(const ModelSpec& model,
                                      const PipelinePlan& plan) {
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    if (TransformerLayers(model, plan.stages[i].plan).size() > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("stages[", i,
                     "]: no transformer layer; expected at least one in every "
                     "stage"));
  }
  return absl::OkStatus();
}

RecomputeGranularity RoundRecompute(const ModelSpec& model,
                                    PipelinePlan& plan) {
  std::vector<OpMask> masks = LayerMasks(model, plan);
  bool any = false;
  bool only_cores = true;
  for (int l = 0; l < model.num_layers(); ++l) {
    const LayerSpec& layer = model.layers[l];
    if (!IsTransformer(model, l)) masks[l] = kRecomputeNone;
    any |= masks[l] != kRecomputeNone;
    only_cores &= (masks[l] & ~AttentionCoreMask(layer)) == 0;
  }
  for (int l = 0; any && only_cores && l < model.num_layers(); ++l) {
    masks[l] = AttentionCoreMask(model.layers[l]);
  }
  if (!any || only_cores) {
    SetLayerMasks(masks, plan);
    return any ? RecomputeGranularity::kAttentionCore
               : RecomputeGranularity::kNone;
  }
  for (const PlacedStage& stage : plan.stages) {
    const LayerSpan span = TransformerLayers(model, stage.plan);
    const auto recomputed =
        std::count_if(masks.begin() + span.first, masks.begin() + span.last,
                      [](OpMask mask) { return mask != kRecomputeNone; });
    for (int l = span.first; l < span.last; ++l) {
      masks[l] = l - span.first < recomputed ? WholeLayerMask(model.layers[l])
                                             : kRecomputeNone;
    }
  }
  SetLayerMasks(masks, plan);
  return RecomputeGranularity::kWholeLayers;
}

void RecomputeAll(const ModelSpec& model, PipelinePlan& plan) {
  std::vector<OpMask> masks(model.layers.size(), kRecomputeNone);
  for (int l = 0; l < model.num_layers(); ++l) {
    if (IsTransformer(model, l)) masks[l] = WholeLayerMask(model.layers[l]);
  }
  SetLayerMasks(masks, plan);
}

bool RecomputeAllOrNothing(const ModelSpec& model, PipelinePlan& plan) {
  const std::vector<OpMask> masks = LayerMasks(model, plan);
  const bool any = std::any_of(masks.begin(), masks.end(), [](OpMask mask) {
    return mask != kRecomputeNone;
  });
  if (any) {
    RecomputeAll(model, plan);
  } else {
    SetLayerMasks(masks, plan);
  }
  return any;
}

void KeepDegreesOnly(PipelinePlan& plan) {
  for (PlacedStage& stage : plan.stages) {
    StageParallelism& p = stage.plan.parallelism;
    p = {.tp_degree = p.tp_degree,
         .cp_degree = p.cp_degree,
         .dp_degree = p.dp_degree,
         .ep_degree = p.ep_degree};
    stage.plan.offload = HostOffload();
  }
}

absl::StatusOr<DegreePlan> LowerToDegrees(const ModelSpec& model,
                                          const PipelinePlan& plan,
                                          bool keep_gpipe) {
  DegreePlan lowered{.plan = CanonicalPlan(model, plan)};
  if (!keep_gpipe || plan.schedule != PipelineSchedule::kGpipe) {
    lowered.plan.schedule = PipelineSchedule::kOneFOneB;
  }
  TANGRAM_RETURN_IF_ERROR(RoundToLayers(model, lowered.plan));
  TANGRAM_RETURN_IF_ERROR(RequireTransformerLayers(model, lowered.plan));
  lowered.recompute = RecomputeAllOrNothing(model, lowered.plan);
  KeepDegreesOnly(lowered.plan);
  return lowered;
}

int RecomputedLayers(const ModelSpec& model, const StagePlan& stage) {
  int recomputed = 0;
  int layer = stage.begin.layer;
  for (const RecomputeRun& run : stage.recompute) {
    for (int i = 0; i < run.num_layers; ++i, ++layer) {
      recomputed += run.mask != kRecomputeNone && IsTransformer(model, layer);
    }
  }
  return recomputed;
}

}  // namespace tangram
