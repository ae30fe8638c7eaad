#include "worker/adapters/search/stage_space.h"

#include <algorithm>
#include <numeric>

#include "common/domain/stage_rules.h"

namespace tangram {
namespace {

// A stage is a part of a node that divides it, or whole nodes.
bool FitsNodes(int num_gpus, int gpus_per_node) {
  return num_gpus < gpus_per_node ? gpus_per_node % num_gpus == 0
                                  : num_gpus % gpus_per_node == 0;
}

// Whether each tp group lies in one node.
bool TpFitsNode(int tp_degree, int num_gpus, int gpus_per_node) {
  return std::min(num_gpus, gpus_per_node) % tp_degree == 0;
}

// tp and its second dimension.
struct TpDegrees {
  int tp = 1;
  int tp_y = 1;
};

// Returns the tp degree that the limits ask for, or powers of two.
std::vector<int> TpChoices(int num_gpus, const StageLimits& limits) {
  if (limits.tp_degree > 0) return {limits.tp_degree};
  std::vector<int> choices;
  for (int tp = 1; tp <= num_gpus; tp *= 2) choices.push_back(tp);
  return choices;
}

// Returns all tp degrees of a stage, with ascending tp_y for each tp.
std::vector<TpDegrees> TpDegreesOf(int num_gpus, const IslandSpec& island,
                                   const SplitLimits& limits,
                                   ExtraDegrees extra) {
  std::vector<TpDegrees> all;
  for (const int tp : TpChoices(num_gpus, island.limits)) {
    if (num_gpus % tp != 0 || !limits.AllowsTp(tp)) continue;
    const bool in_node = TpFitsNode(tp, num_gpus, island.gpus_per_node);
    if (in_node) all.push_back({.tp = tp});
    if (!extra.tp_2d || !(in_node || tp % island.gpus_per_node == 0)) continue;
    for (int tp_y = 2; tp_y <= tp && tp % tp_y == 0; tp_y *= 2) {
      if (limits.AllowsTp2d(tp, tp_y) &&
          TpFitsNode(tp / tp_y, num_gpus, island.gpus_per_node)) {
        all.push_back({.tp = tp, .tp_y = tp_y});
      }
    }
  }
  return all;
}

// Returns the cp degree that is asked for, or powers of two up to `most`.
std::vector<int> CpDegrees(int most, const IslandSpec& island,
                           const SplitLimits& limits, ExtraDegrees extra) {
  const int asked_for = island.limits.cp_degree;
  std::vector<int> degrees = {1};
  for (int cp = 2; extra.cp && cp <= most; cp *= 2) {
    if (limits.AllowsCp(cp, island.device)) degrees.push_back(cp);
  }
  if (asked_for > 0) {
    std::erase_if(degrees, [=](int cp) { return cp != asked_for; });
  }
  return degrees;
}

// Appends the parallelism with each ep degree, and with fully sharded experts.
void AppendExpertDegrees(StageParallelism parallelism,
                         const SplitLimits& limits, ExtraDegrees extra,
                         std::vector<StageParallelism>& all) {
  const int ranks = parallelism.cp_degree * parallelism.dp_degree;
  const int max_ep = extra.ep && limits.num_experts() > 0
                         ? std::gcd(ranks, limits.num_experts())
                         : 1;
  for (int ep = 1; ep <= max_ep; ++ep) {
    if (max_ep % ep != 0) continue;
    parallelism.ep_degree = ep;
    all.push_back(parallelism);
    if (ep > 1 && ep == ranks) {
      all.push_back(parallelism);
      all.back().fsep = true;
    }
  }
}

}  // namespace

SplitLimits::SplitLimits(absl::Span<const LayerSpec> layers,
                         int pipeline_microbatch_size,
                         const TrainingOptions& training)
    : pipeline_microbatch_size_(pipeline_microbatch_size),
      sequence_length_(training.sequence_length),
      flash_attention_(training.flash_attention) {
  for (const LayerSpec& layer : layers) {
    if (layer.kind != LayerKind::kTransformer) continue;
    layers_.push_back(layer);
    num_experts_ = std::gcd(num_experts_, layer.num_experts);
  }
}

bool SplitLimits::AllowsTp(int tp_degree) const {
  return std::all_of(layers_.begin(), layers_.end(),
                     [tp_degree](const LayerSpec& layer) {
                       return SplitsHeads(layer, tp_degree);
                     });
}

bool SplitLimits::AllowsCp(int cp_degree, const DeviceSpec& device) const {
  return cp_degree == 1 ||
         (flash_attention_ && device.supports_flash_attention &&
          SplitsSequenceForCp(sequence_length_, cp_degree));
}

bool SplitLimits::AllowsSequenceParallel(int tp_degree, int cp_degree) const {
  return tp_degree > 1 &&
         SplitsSequenceForTp(sequence_length_, cp_degree, tp_degree);
}

bool SplitLimits::AllowsTp2d(int tp_degree, int tp_y_degree) const {
  return sequence_length_ % (tp_degree / tp_y_degree) == 0 &&
         std::all_of(layers_.begin(), layers_.end(),
                     [tp_y_degree](const LayerSpec& layer) {
                       return tangram::AllowsTp2d(layer) &&
                              layer.hidden_size % tp_y_degree == 0;
                     });
}

std::vector<int> StageSizes(const IslandSpec& island, const SplitLimits& limits,
                            ExtraDegrees extra) {
  std::vector<int> sizes;
  for (int size = 1; size <= island.num_gpus(); ++size) {
    const int asked_for = island.limits.gpus_per_stage;
    if ((asked_for == 0 || asked_for == size) &&
        FitsNodes(size, island.gpus_per_node) &&
        !ParallelismsOf(size, island, limits, extra).empty()) {
      sizes.push_back(size);
    }
  }
  return sizes;
}

// For each number of stages, takes the largest stage size of at most the
// stage's share of the GPUs. Layouts that leave GPUs idle are used only if no
// layout uses all.
std::vector<EqualStages> LayoutsOf(const IslandSpec& island, int num_layers,
                                   absl::Span<const int> stage_sizes) {
  std::vector<EqualStages> all_gpus;
  std::vector<EqualStages> fewer_gpus;
  const int num_gpus = island.num_gpus();
  int max_stages = std::min(num_layers, num_gpus);
  if (island.limits.max_stages > 0) {
    max_stages = std::min(max_stages, island.limits.max_stages);
  }
  for (int stages = 1; stages <= max_stages; ++stages) {
    if (num_gpus % stages != 0) continue;
    const int share = num_gpus / stages;
    const auto above =
        std::upper_bound(stage_sizes.begin(), stage_sizes.end(), share);
    if (above == stage_sizes.begin()) continue;
    const EqualStages layout = {.num_stages = stages,
                                .gpus_per_stage = *(above - 1)};
    (layout.gpus_per_stage == share ? all_gpus : fewer_gpus).push_back(layout);
  }
  return all_gpus.empty() ? fewer_gpus : all_gpus;
}

// Enumerates tp, then cp of the remaining ranks; dp is the rest; then ep.
std::vector<StageParallelism> ParallelismsOf(int gpus_per_stage,
                                             const IslandSpec& island,
                                             const SplitLimits& limits,
                                             ExtraDegrees extra) {
  const StageLimits& asked_for = island.limits;
  std::vector<StageParallelism> all;
  for (const auto [tp, tp_y] :
       TpDegreesOf(gpus_per_stage, island, limits, extra)) {
    const int ranks = gpus_per_stage / tp;
    for (const int cp : CpDegrees(ranks, island, limits, extra)) {
      const int dp = ranks / cp;
      if (ranks % cp != 0 || !limits.AllowsDp(dp) ||
          (asked_for.dp_degree > 0 && asked_for.dp_degree != dp)) {
        continue;
      }
      AppendExpertDegrees(
          {.tp_degree = tp,
           .cp_degree = cp,
           .dp_degree = dp,
           .sequence_parallel = tp_y == 1 && !asked_for.no_sequence_parallel &&
                                limits.AllowsSequenceParallel(tp, cp),
           .tp_y_degree = tp_y},
          limits, extra, all);
    }
  }
  return all;
}

// A stage without replicas has nothing to shard.
absl::Span<const int> ZeroStagesOf(const StageParallelism& parallelism,
                                   const StageLimits& limits) {
  static constexpr int kReplicated[] = {1, 2, 3};  // Stage 0 is never better.
  static constexpr int kAlone[] = {0};
  if (parallelism.dp_degree * parallelism.cp_degree == 1 ||
      limits.max_zero_stage == 0) {
    return kAlone;
  }
  return absl::Span<const int>(kReplicated).first(limits.max_zero_stage);
}

}  // namespace tangram
