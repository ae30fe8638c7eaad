#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_STAGE_SPACE_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_STAGE_SPACE_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/island.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// What the degrees of a stage must divide.
class SplitLimits {
 public:
  // Of stages that may hold any of `layers`.
  SplitLimits(absl::Span<const LayerSpec> layers, int pipeline_microbatch_size,
              int sequence_length);

  bool AllowsTp(int tp_degree) const;
  // In two dimensions, tokens are split over tp_x and what a token is over
  // tp_y.
  bool AllowsTp2d(int tp_degree, int tp_y_degree) const;
  bool AllowsDp(int dp_degree) const {
    return pipeline_microbatch_size_ % dp_degree == 0;
  }
  // Causal attention is even if each rank has a chunk from either end of the
  // sequence.
  bool AllowsCp(int cp_degree) const {
    return cp_degree == 1 || sequence_length_ % (2 * cp_degree) == 0;
  }
  bool AllowsSequenceParallel(int tp_degree) const {
    return tp_degree > 1 && sequence_length_ % tp_degree == 0;
  }
  int pipeline_microbatch_size() const { return pipeline_microbatch_size_; }
  // Greatest common divisor of the layers' numbers of experts; 0: none.
  int num_experts() const { return num_experts_; }

 private:
  std::vector<LayerSpec> layers_;  // Transformer layers only.
  int pipeline_microbatch_size_ = 1;
  int sequence_length_ = 0;
  int num_experts_ = 0;
};

// Degrees besides tp and dp that a search may set.
struct ExtraDegrees {
  bool cp = false;
  bool ep = false;
  bool tp_2d = false;
};

// Why a search finds nothing where no stage is within the island's limits.
inline constexpr char kNoStageWithinLimits[] =
    "no stage can have the degrees that are asked for";

// Sizes, ascending, that a stage can have: parts of a node that divide it, or
// whole nodes, for which degrees exist. This and what follows keep to the
// limits of the island.
std::vector<int> StageSizes(const IslandSpec& island, const SplitLimits& limits,
                            ExtraDegrees extra);

// Stages of one size, next to each other from the island's first GPU on.
struct EqualStages {
  int num_stages = 1;
  int gpus_per_stage = 1;
  bool operator==(const EqualStages&) const = default;
};

// Every number of stages that divides the number of GPUs. Only layouts that
// use all GPUs; where the microbatch rules them all out, each with the largest
// stages that it allows.
std::vector<EqualStages> LayoutsOf(const IslandSpec& island, int num_layers,
                                   absl::Span<const int> stage_sizes);

// All degrees of a stage of that size, at ZeRO stage 0: tp a power of two in a
// node, or in two dimensions with tp_x in a node and tp in one or in whole
// nodes; cp a power of two, dp the rest; ep a divisor of cp · dp and of the
// experts; fully sharded experts where a stage is one group of tp · ep ranks
// (LAER-MoE).
std::vector<StageParallelism> ParallelismsOf(int gpus_per_stage,
                                             const IslandSpec& island,
                                             const SplitLimits& limits,
                                             ExtraDegrees extra);

// ZeRO stages worth trying within `limits`. With replicas stage 1 takes no
// longer than stage 0 and less memory; without, all are the same.
absl::Span<const int> ZeroStagesOf(const StageParallelism& parallelism,
                                   const StageLimits& limits = {});

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_STAGE_SPACE_H_
