#include "worker/adapters/search/stage_space.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "common/domain/stage_limits.h"
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

// Calls visit(degrees) for all tp degrees of a stage, with ascending tp_y for
// each tp: those that the limits ask for, or powers of two. Stops once it
// returns true, and returns whether it did.
template <typename Visit>
bool AnyTpDegrees(int num_gpus, const IslandSpec& island,
                  const SplitLimits& limits, ExtraDegrees extra,
                  const Visit& visit) {
  const int asked_for = island.limits.tp_degree;
  const int most = asked_for > 0 ? asked_for : num_gpus;
  for (int tp = std::max(asked_for, 1); tp <= most; tp *= 2) {
    if (num_gpus % tp != 0 || !limits.AllowsTp(tp)) continue;
    const bool in_node = TpFitsNode(tp, num_gpus, island.gpus_per_node);
    if (in_node && visit(TpDegrees{.tp = tp})) return true;
    if (!extra.tp_2d || !(in_node || tp % island.gpus_per_node == 0)) continue;
    for (int tp_y = 2; tp_y <= tp && tp % tp_y == 0; tp_y *= 2) {
      if (limits.AllowsTp2d(tp, tp_y) &&
          TpFitsNode(tp / tp_y, num_gpus, island.gpus_per_node) &&
          visit(TpDegrees{.tp = tp, .tp_y = tp_y})) {
        return true;
      }
    }
  }
  return false;
}

// Returns the ep degrees, ascending, of a stage of cp and dp ranks: all that
// divide those that share state, and the experts, or the one that is asked for.
std::vector<int> EpDegrees(int cp, int dp, const IslandSpec& island,
                           const SplitLimits& limits, ExtraDegrees extra) {
  if (limits.num_experts() == 0) return {1};
  const int ranks = cp * ZeroDegreeWithin(island.limits, dp);
  const int asked_for = island.limits.ep_degree;
  const int most = extra.ep ? std::gcd(ranks, limits.num_experts()) : 1;
  std::vector<int> degrees;
  for (int ep = 1; ep <= most; ++ep) {
    if (most % ep == 0 && (asked_for == 0 || asked_for == ep)) {
      degrees.push_back(ep);
    }
  }
  return degrees;
}

// As AnyTpDegrees, with visit(cp, dp) for the degrees that share the `ranks`
// beside tp: the cp that is asked for, or powers of two.
template <typename Visit>
bool AnyCpAndDp(int tp, int ranks, const IslandSpec& island,
                const SplitLimits& limits, ExtraDegrees extra,
                const Visit& visit) {
  const StageLimits& asked_for = island.limits;
  const int most_cp = extra.cp ? ranks : 1;
  for (int cp = 1; cp <= most_cp && ranks % cp == 0; cp *= 2) {
    const int dp = ranks / cp;
    if (dp % ZeroDegreeWithin(asked_for, dp) != 0) continue;
    if ((asked_for.cp_degree == 0 || asked_for.cp_degree == cp) &&
        (asked_for.dp_degree == 0 || asked_for.dp_degree == dp) &&
        limits.AllowsDp(dp) && limits.AllowsCp(tp, cp, island.device) &&
        !EpDegrees(cp, dp, island, limits, extra).empty() && visit(cp, dp)) {
      return true;
    }
  }
  return false;
}

// Returns the sizes that may have degrees, ascending. As cp is a power of two,
// and tp too unless it is asked for, the odd part of a size is shared by tp and
// dp, which divides the microbatch.
std::vector<int> LikelySizes(int first, int last, const IslandSpec& island,
                             const SplitLimits& limits) {
  const int64_t shared = int64_t{std::max(island.limits.tp_degree, 1)} *
                         limits.pipeline_microbatch_size();
  std::vector<int> sizes;
  for (int64_t odd = 1; odd <= std::min<int64_t>(last, shared); odd += 2) {
    if (shared % odd != 0) continue;
    for (int64_t size = odd; size <= last; size *= 2) {
      if (size >= first) sizes.push_back(static_cast<int>(size));
    }
  }
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

// Returns whether a stage of that size has any degrees.
bool HasDegrees(int num_gpus, const IslandSpec& island,
                const SplitLimits& limits, ExtraDegrees extra) {
  return AnyTpDegrees(
      num_gpus, island, limits, extra, [&](const TpDegrees& degrees) {
        return AnyCpAndDp(degrees.tp, num_gpus / degrees.tp, island, limits,
                          extra, [](int, int) { return true; });
      });
}

// Appends the parallelism with each ep degree, and with fully sharded experts.
void AppendExpertDegrees(StageParallelism parallelism, const IslandSpec& island,
                         const SplitLimits& limits, ExtraDegrees extra,
                         std::vector<StageParallelism>& all) {
  const int ranks = parallelism.num_replicas();
  for (const int ep : EpDegrees(parallelism.cp_degree, parallelism.dp_degree,
                                island, limits, extra)) {
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
    if (!layers_.empty() && layers_.back() == layer) continue;
    layers_.push_back(layer);
    num_experts_ = std::gcd(num_experts_, layer.num_experts);
  }
}

bool SplitLimits::AllowsTp(int tp_degree) const {
  return std::all_of(layers_.begin(), layers_.end(),
                     [tp_degree](const LayerSpec& layer) {
                       return SplitsMixer(layer, tp_degree);
                     });
}

bool SplitLimits::AllowsCp(int tp_degree, int cp_degree,
                           const DeviceSpec& device) const {
  if (cp_degree == 1) return true;
  return flash_attention_ && device.supports_flash_attention &&
         SplitsSequenceForCp(sequence_length_, cp_degree) &&
         std::all_of(layers_.begin(), layers_.end(),
                     [=](const LayerSpec& layer) {
                       return SplitsMixerForCp(layer, tp_degree, cp_degree);
                     });
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
  const int asked_for = island.limits.gpus_per_stage;
  const int first = std::max(asked_for, 1);
  const int last = asked_for > 0 ? std::min(asked_for, island.num_gpus())
                                 : island.num_gpus();
  for (const int size : LikelySizes(first, last, island, limits)) {
    if (FitsNodes(size, island.gpus_per_node) &&
        HasDegrees(size, island, limits, extra)) {
      sizes.push_back(size);
    }
  }
  return sizes;
}

// For each number of stages, takes the largest stage size of at most the
// stage's share of the GPUs. Layouts that leave GPUs idle are used only if no
// layout uses all, or if each depth is asked for.
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
    if (num_gpus % stages != 0 && !island.limits.each_depth) continue;
    const int share = num_gpus / stages;
    const auto above =
        std::upper_bound(stage_sizes.begin(), stage_sizes.end(), share);
    if (above == stage_sizes.begin()) continue;
    const EqualStages layout = {.num_stages = stages,
                                .gpus_per_stage = *(above - 1)};
    const bool uses_all = stages * layout.gpus_per_stage == num_gpus;
    (uses_all || island.limits.each_depth ? all_gpus : fewer_gpus)
        .push_back(layout);
  }
  return all_gpus.empty() ? fewer_gpus : all_gpus;
}

// Enumerates tp, then cp of the remaining ranks; dp is the rest; then ep.
std::vector<StageParallelism> ParallelismsOf(int gpus_per_stage,
                                             const IslandSpec& island,
                                             const SplitLimits& limits,
                                             ExtraDegrees extra) {
  std::vector<StageParallelism> all;
  const auto append = [&](const TpDegrees& tp, int cp, int dp) {
    const bool sequence_parallel = tp.tp_y == 1 &&
                                   !island.limits.no_sequence_parallel &&
                                   limits.AllowsSequenceParallel(tp.tp, cp);
    StageParallelism parallelism{.tp_degree = tp.tp,
                                 .cp_degree = cp,
                                 .dp_degree = dp,
                                 .sequence_parallel = sequence_parallel,
                                 .tp_y_degree = tp.tp_y};
    SetZero(island.limits, ZeroStageWithin(island.limits, parallelism, 0),
            parallelism);
    AppendExpertDegrees(parallelism, island, limits, extra, all);
    return false;
  };
  AnyTpDegrees(gpus_per_stage, island, limits, extra, [&](const TpDegrees& tp) {
    return AnyCpAndDp(tp.tp, gpus_per_stage / tp.tp, island, limits, extra,
                      [&](int cp, int dp) { return append(tp, cp, dp); });
  });
  return all;
}

// A stage without replicas has nothing to shard.
absl::Span<const int> ZeroStagesOf(const StageParallelism& parallelism,
                                   const StageLimits& limits) {
  static constexpr int kStages[] = {0, 1, 2, 3};
  const absl::Span<const int> all = kStages;
  const int least = ZeroStageWithin(limits, parallelism, 1);
  if (least == 0 || limits.zero_stage.has_value()) return all.subspan(least, 1);
  return all.subspan(1, limits.max_zero_stage);  // Stage 0 is never better.
}

}  // namespace tangram
