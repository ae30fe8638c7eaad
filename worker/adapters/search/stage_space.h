#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_STAGE_SPACE_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_STAGE_SPACE_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/island.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"
#include "common/domain/training_options.h"

namespace tangram {

// Quantities that a stage's degrees must divide: heads, experts, microbatch,
// sequence.
class SplitLimits {
 public:
  // Limits for stages that may hold any of `layers`.
  SplitLimits(absl::Span<const LayerSpec> layers, int pipeline_microbatch_size,
              const TrainingOptions& training);

  // tp must divide the attention heads, and divide or be divided by the key and
  // value heads.
  bool AllowsTp(int tp_degree) const;
  // In two dimensions, tp_x splits tokens and tp_y splits the features of a
  // token.
  bool AllowsTp2d(int tp_degree, int tp_y_degree) const;
  bool AllowsDp(int dp_degree) const {
    return pipeline_microbatch_size_ % dp_degree == 0;
  }
  // Context parallelism needs flash attention (see StageSite) and mixers that
  // cp ranks can share.
  bool AllowsCp(int tp_degree, int cp_degree, const DeviceSpec& device) const;
  bool AllowsSequenceParallel(int tp_degree, int cp_degree) const;
  int pipeline_microbatch_size() const { return pipeline_microbatch_size_; }
  // Greatest common divisor of the layers' numbers of experts; 0 means no
  // experts.
  int num_experts() const { return num_experts_; }

 private:
  std::vector<LayerSpec> layers_;  // Transformer layers, equal ones once.
  int pipeline_microbatch_size_ = 1;
  int sequence_length_ = 0;
  bool flash_attention_ = true;
  int num_experts_ = 0;
};

// Degrees that a search may set besides tp and dp.
struct ExtraDegrees {
  bool cp = false;     // Context parallelism.
  bool ep = false;     // Expert parallelism.
  bool tp_2d = false;  // Two-dimensional tensor parallelism.
};

// The reason for an empty answer if no stage is within the island's limits.
inline constexpr char kNoStageWithinLimits[] =
    "no stage can have the degrees that are asked for";

// Returns the numbers of GPUs, ascending, that a stage can have: parts of a
// node that divide it, or whole nodes, for which degrees exist. This and the
// functions below respect the island's limits.
std::vector<int> StageSizes(const IslandSpec& island, const SplitLimits& limits,
                            ExtraDegrees extra);

// Stages of one size on consecutive GPUs, from the island's first GPU on.
struct EqualStages {
  int num_stages = 1;
  int gpus_per_stage = 1;
  bool operator==(const EqualStages&) const = default;
};

// Returns the layouts for every number of stages that divides the number of
// GPUs, or for every number if each depth is asked for. Otherwise, only layouts
// that use all GPUs are returned. If the microbatch rules all of these out,
// returns each number of stages with the largest size that it allows.
std::vector<EqualStages> LayoutsOf(const IslandSpec& island, int num_layers,
                                   absl::Span<const int> stage_sizes);

// Returns all degrees of a stage of that size, at ZeRO stage 0 unless the
// island's limits demand another. tp is a power of two within a node; or, in
// two dimensions, tp_x is within a node and tp is within one or spans whole
// nodes. cp is a power of two and dp the rest. ep divides cp · dp and the
// number of experts. Fully sharded experts (LAER-MoE) are included if a stage
// is one group of tp · ep ranks.
std::vector<StageParallelism> ParallelismsOf(int gpus_per_stage,
                                             const IslandSpec& island,
                                             const SplitLimits& limits,
                                             ExtraDegrees extra);

// Returns the ZeRO stages worth trying within `limits`. With replicas, stage 1
// takes no longer than stage 0 and less memory. Without replicas, all stages
// are the same.
absl::Span<const int> ZeroStagesOf(const StageParallelism& parallelism,
                                   const StageLimits& limits = {});

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_STAGE_SPACE_H_
