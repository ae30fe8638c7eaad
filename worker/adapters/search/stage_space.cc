#include "worker/adapters/search/stage_space.h"

#include <algorithm>
#include <numeric>

namespace tangram {
namespace {

bool FitsNodes(int num_gpus, int gpus_per_node) {
  return num_gpus < gpus_per_node ? gpus_per_node % num_gpus == 0
                                  : num_gpus % gpus_per_node == 0;
}

// tp groups lie in one node.
bool TpFitsNode(int tp_degree, int num_gpus, int gpus_per_node) {
  return std::min(num_gpus, gpus_per_node) % tp_degree == 0;
}

// Powers of two up to `most`.
std::vector<int> CpDegrees(int most, const SplitLimits& limits,
                           ExtraDegrees extra) {
  std::vector<int> degrees = {1};
  for (int cp = 2; extra.cp && cp <= most; cp *= 2) {
    if (limits.AllowsCp(cp)) degrees.push_back(cp);
  }
  return degrees;
}

// The degrees with each ep degree.
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
                         int pipeline_microbatch_size, int sequence_length)
    : pipeline_microbatch_size_(pipeline_microbatch_size),
      sequence_length_(sequence_length) {
  for (const LayerSpec& layer : layers) {
    if (layer.kind != LayerKind::kTransformer) continue;
    layers_.push_back(layer);
    num_experts_ = std::gcd(num_experts_, layer.num_experts);
  }
}

bool SplitLimits::AllowsTp(int tp_degree) const {
  return std::all_of(layers_.begin(), layers_.end(),
                     [tp_degree](const LayerSpec& layer) {
                       const int kv_heads = layer.num_kv_heads;
                       return layer.num_heads % tp_degree == 0 &&
                              (kv_heads == 0 || kv_heads % tp_degree == 0 ||
                               tp_degree % kv_heads == 0);
                     });
}

std::vector<int> StageSizes(const IslandSpec& island, const SplitLimits& limits,
                            ExtraDegrees extra) {
  std::vector<int> sizes;
  const int max_dp =
      std::min(limits.pipeline_microbatch_size(), island.num_gpus());
  for (int tp = 1; tp <= island.gpus_per_node; tp *= 2) {
    if (!limits.AllowsTp(tp)) continue;
    for (const int cp : CpDegrees(island.num_gpus() / tp, limits, extra)) {
      for (int dp = 1; dp <= max_dp; ++dp) {
        const int size = tp * cp * dp;
        if (size > island.num_gpus()) break;
        if (limits.AllowsDp(dp) && FitsNodes(size, island.gpus_per_node) &&
            TpFitsNode(tp, size, island.gpus_per_node)) {
          sizes.push_back(size);
        }
      }
    }
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::vector<EqualStages> LayoutsOf(const IslandSpec& island, int num_layers,
                                   absl::Span<const int> stage_sizes) {
  std::vector<EqualStages> all_gpus;
  std::vector<EqualStages> fewer_gpus;
  const int num_gpus = island.num_gpus();
  for (int stages = 1; stages <= std::min(num_layers, num_gpus); ++stages) {
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

std::vector<StageParallelism> ParallelismsOf(int gpus_per_stage,
                                             const IslandSpec& island,
                                             const SplitLimits& limits,
                                             ExtraDegrees extra) {
  std::vector<StageParallelism> all;
  for (int tp = 1; tp <= island.gpus_per_node; tp *= 2) {
    if (!TpFitsNode(tp, gpus_per_stage, island.gpus_per_node)) continue;
    if (!limits.AllowsTp(tp)) continue;
    const int ranks = gpus_per_stage / tp;
    for (const int cp : CpDegrees(ranks, limits, extra)) {
      if (ranks % cp != 0 || !limits.AllowsDp(ranks / cp)) continue;
      AppendExpertDegrees(
          {.tp_degree = tp,
           .cp_degree = cp,
           .dp_degree = ranks / cp,
           .sequence_parallel = limits.AllowsSequenceParallel(tp)},
          limits, extra, all);
    }
  }
  return all;
}

absl::Span<const int> ZeroStagesOf(const StageParallelism& parallelism) {
  static constexpr int kReplicated[] = {1, 2, 3};
  static constexpr int kAlone[] = {0};
  return parallelism.dp_degree * parallelism.cp_degree > 1
             ? absl::Span<const int>(kReplicated)
             : absl::Span<const int>(kAlone);
}

}  // namespace tangram
