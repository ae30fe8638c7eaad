#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_LAYER_COSTS_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_LAYER_COSTS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "common/cost/stage_cost.h"
#include "common/domain/island.h"
#include "common/domain/recompute_masks.h"
#include "common/parallelizer/search_memory.h"
#include "worker/adapters/search/layer_frontier.h"

namespace tangram {

// Costs of single layers, kept from question to question: most questions of a
// search are about the same few layers on the same few islands. Not for
// islands with measurements, whose tables take long to compare.
// Thread-compatible.
class LayerCosts : public SearchMemory::Content {
 public:
  // Kinds of layers on GPUs of one kind and wiring, with one microbatch size.
  // Limits on stages do not matter.
  class Site {
   public:
    // Returns the number of a layer.
    int KindOf(const LayerSpec& layer);

    // Returns what EstimateLayer does for a whole layer of the kind.
    // `environment` must be that of a stage at the site with these degrees.
    LayerCost Cost(int kind, OpMask recomputed,
                   const StageParallelism& parallelism,
                   const StageEnvironment& environment);

    // Returns the frontier of layers of the kind whose choices recompute these
    // masks, at most the first `num_choices` of them. It has as many layers as
    // were appended. The caller counts what it adds (CountLabels).
    using Masks = std::array<OpMask, std::size(kLayerRecomputes)>;
    LayerFrontier& FrontierOf(int kind, const Masks& masks, int num_choices,
                              const StageParallelism& parallelism);
    void CountLabels(int64_t num_labels) { num_labels_ += num_labels; }

   private:
    friend class LayerCosts;
    struct Key {
      int kind = 0;
      Masks masks{};
      int num_choices = 0;  // 0: a cost.
      StageParallelism parallelism;
      bool operator==(const Key&) const = default;
      template <typename H>
      friend H AbslHashValue(H h, const Key& key) {
        const StageParallelism& p = key.parallelism;
        return H::combine(std::move(h), key.kind, key.masks, key.num_choices,
                          p.tp_degree, p.cp_degree, p.dp_degree, p.ep_degree,
                          p.fsep, p.zero_stage, p.zero_degree,
                          p.sequence_parallel, p.tp_y_degree);
      }
    };

    IslandSpec island_;
    TrainingOptions training_;
    int microbatch_size_ = 1;
    std::vector<LayerSpec> kinds_;
    absl::flat_hash_map<Key, LayerCost> costs_;
    absl::node_hash_map<Key, LayerFrontier> frontiers_;
    int64_t num_labels_ = 0;
  };

  // Returns the site; null if the island has measurements. It lives until the
  // next call.
  Site* SiteOf(const IslandSpec& island, const TrainingOptions& training,
               int microbatch_size);

 private:
  // Beyond so much, everything is forgotten.
  static constexpr int64_t kMostBytes = int64_t{32} << 20;

  int64_t Bytes() const;

  std::vector<std::unique_ptr<Site>> sites_;
};

// Returns the site of a question in its memory; null if nothing is kept.
template <typename Options>
LayerCosts::Site* SiteOf(const IslandSpec& island, const Options& options) {
  if (options.memory == nullptr) return nullptr;
  return options.memory->template As<LayerCosts>().SiteOf(
      island, options.training, options.pipeline_microbatch_size);
}

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_LAYER_COSTS_H_
