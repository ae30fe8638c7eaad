#include "common/domain/stage_limits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

// Returns the degree that meets both; 0 is free. Two different degrees are a
// contradiction.
int JoinDegrees(int a, int b, bool& contradiction) {
  contradiction |= a != 0 && b != 0 && a != b;
  return a != 0 ? a : b;
}

bool IsOther(int limit, int degree) { return limit != 0 && limit != degree; }

std::string Other(absl::string_view what, int found, int expected) {
  return absl::StrCat(what, " ", found, ", expected ", expected);
}

bool HasReplicas(const StageParallelism& parallelism) {
  return parallelism.num_replicas() > 1;
}

// Returns whether a layer that the stage touches has experts.
bool HoldsExperts(const StagePlan& stage, absl::Span<const LayerRun> runs) {
  return !AllLayers(stage, runs, [](int, const LayerSpec& layer, OpMask) {
    return !layer.is_moe();
  });
}

// Returns whether all operators of transformer layers that the stage runs are
// recomputed as demanded. A stage may hold a part of a layer.
bool Recomputes(LayerRecompute demanded, const StagePlan& stage,
                absl::Span<const LayerRun> runs) {
  return AllLayers(
      stage, runs, [&](int index, const LayerSpec& layer, OpMask mask) {
        const OpMask held = OperatorsIn(stage, index) & WholeLayerMask(layer);
        return layer.kind != LayerKind::kTransformer ||
               (mask & held) == (MaskOf(layer, demanded) & held);
      });
}

}  // namespace

JoinedLimits Join(const StageLimits& a, const StageLimits& b) {
  JoinedLimits joined;
  StageLimits& limits = joined.limits;
  bool& contradiction = joined.contradiction;
  limits.tp_degree = JoinDegrees(a.tp_degree, b.tp_degree, contradiction);
  limits.cp_degree = JoinDegrees(a.cp_degree, b.cp_degree, contradiction);
  limits.dp_degree = JoinDegrees(a.dp_degree, b.dp_degree, contradiction);
  limits.gpus_per_stage =
      JoinDegrees(a.gpus_per_stage, b.gpus_per_stage, contradiction);
  limits.max_stages = a.max_stages == 0 ? b.max_stages
                      : b.max_stages == 0
                          ? a.max_stages
                          : std::min(a.max_stages, b.max_stages);
  limits.each_depth = a.each_depth || b.each_depth;
  limits.ep_degree = JoinDegrees(a.ep_degree, b.ep_degree, contradiction);
  limits.max_zero_stage = std::min(a.max_zero_stage, b.max_zero_stage);
  contradiction |= a.zero_stage.has_value() && b.zero_stage.has_value() &&
                   a.zero_stage != b.zero_stage;
  limits.zero_stage = a.zero_stage.has_value() ? a.zero_stage : b.zero_stage;
  contradiction |= limits.zero_stage.value_or(0) > limits.max_zero_stage;
  limits.zero_degree = JoinDegrees(a.zero_degree, b.zero_degree, contradiction);
  limits.no_sequence_parallel =
      a.no_sequence_parallel || b.no_sequence_parallel;
  limits.no_offload = a.no_offload || b.no_offload;
  limits.residual_cuts = a.residual_cuts || b.residual_cuts;
  limits.closed_recompute = a.closed_recompute || b.closed_recompute;
  contradiction |= a.recompute.has_value() && b.recompute.has_value() &&
                   a.recompute != b.recompute;
  limits.recompute = a.recompute.has_value() ? a.recompute : b.recompute;
  return joined;
}

Fingerprint FingerprintOf(const StageLimits& limits) {
  return Fingerprinter()
      .Add(limits.tp_degree)
      .Add(limits.cp_degree)
      .Add(limits.dp_degree)
      .Add(limits.gpus_per_stage)
      .Add(limits.max_stages)
      .Add(limits.each_depth)
      .Add(limits.ep_degree)
      .Add(limits.max_zero_stage)
      .Add(limits.zero_stage.value_or(-1))
      .Add(limits.zero_degree)
      .Add(limits.no_sequence_parallel)
      .Add(limits.no_offload)
      .Add(limits.residual_cuts)
      .Add(limits.closed_recompute)
      .Add(limits.recompute.has_value())
      .Add(static_cast<int>(limits.recompute.value_or(LayerRecompute::kNone)))
      .Finish();
}

int ZeroStageWithin(const StageLimits& limits,
                    const StageParallelism& parallelism, int wanted) {
  if (!HasReplicas(parallelism)) return 0;
  return limits.zero_stage.value_or(std::min(wanted, limits.max_zero_stage));
}

int ZeroDegreeWithin(const StageLimits& limits, int dp_degree) {
  return limits.zero_degree == 0 ? dp_degree
                                 : std::min(limits.zero_degree, dp_degree);
}

void SetZero(const StageLimits& limits, int zero_stage,
             StageParallelism& parallelism) {
  StageParallelism& p = parallelism;
  p.zero_stage = zero_stage;
  const int degree = ZeroDegreeWithin(limits, p.dp_degree);
  const bool parts = zero_stage > 0 && degree < p.dp_degree &&
                     p.dp_degree % degree == 0 &&
                     p.cp_degree * degree % p.ep_degree == 0;
  p.zero_degree = parts ? degree : 0;
}

OpMask MaskWithin(const StageLimits& limits, const LayerSpec& layer,
                  LayerRecompute wanted) {
  return MaskOf(layer, limits.recompute.value_or(wanted));
}

std::string WhyOutside(const StageLimits& limits, const StagePlan& stage,
                       absl::Span<const LayerRun> runs) {
  const StageParallelism& p = stage.parallelism;
  if (IsOther(limits.tp_degree, p.tp_degree)) {
    return Other("tp", p.tp_degree, limits.tp_degree);
  }
  if (IsOther(limits.cp_degree, p.cp_degree)) {
    return Other("cp", p.cp_degree, limits.cp_degree);
  }
  if (IsOther(limits.dp_degree, p.dp_degree)) {
    return Other("dp", p.dp_degree, limits.dp_degree);
  }
  if (IsOther(limits.gpus_per_stage, p.num_gpus())) {
    return Other("GPUs in a stage", p.num_gpus(), limits.gpus_per_stage);
  }
  // A stage without experts may have the degree of the others.
  if (IsOther(limits.ep_degree, p.ep_degree) &&
      (p.ep_degree > 1 || HoldsExperts(stage, runs))) {
    return Other("ep", p.ep_degree, limits.ep_degree);
  }
  // ZeRO has no effect without replicas.
  if (HasReplicas(p)) {
    if (p.zero_stage > limits.max_zero_stage) {
      return absl::StrCat("ZeRO stage ", p.zero_stage, ", expected at most ",
                          limits.max_zero_stage);
    }
    if (limits.zero_stage.value_or(p.zero_stage) != p.zero_stage) {
      return Other("ZeRO stage", p.zero_stage, *limits.zero_stage);
    }
    const int over = p.num_shards() / p.cp_degree;
    const int over_within = ZeroDegreeWithin(limits, p.dp_degree);
    if (limits.zero_degree > 0 && p.zero_stage > 0 && over != over_within) {
      return Other("ZeRO over", over, over_within);
    }
  }
  if (limits.no_sequence_parallel && p.sequence_parallel && p.tp_degree > 1) {
    return "sequence parallelism, expected none";
  }
  if (limits.no_offload && !stage.offload.none()) {
    return "offloading to host memory, expected none";
  }
  if (limits.recompute.has_value() &&
      !Recomputes(*limits.recompute, stage, runs)) {
    return absl::StrCat("recomputation, expected ",
                        RecomputeName(*limits.recompute));
  }
  return "";
}

}  // namespace tangram
