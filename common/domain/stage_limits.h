#ifndef TANGRAM_COMMON_DOMAIN_STAGE_LIMITS_H_
#define TANGRAM_COMMON_DOMAIN_STAGE_LIMITS_H_

#include <optional>
#include <string>

#include "absl/types/span.h"
#include "common/base/fingerprint.h"
#include "common/domain/model_spec.h"
#include "common/domain/recompute_masks.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// Limits on the stages of a slice that hold even if others would be faster. The
// user sets them, or the framework that will run the plan. 0: free.
struct StageLimits {
  int tp_degree = 0;
  int cp_degree = 0;
  int dp_degree = 0;
  int gpus_per_stage = 0;
  int max_stages = 0;  // In the slice.
  // Answers have the best plans of each number of stages up to max_stages: one
  // of fewer stages is no better for that.
  bool each_depth = false;
  int ep_degree = 0;  // Applies to stages that hold experts.
  int max_zero_stage = 3;
  // The ZeRO stage of stages with replicas, which alone have something to
  // shard. Empty: free.
  std::optional<int> zero_stage;
  // StageParallelism::zero_degree of stages that shard state over more dp ranks
  // without it.
  int zero_degree = 0;
  bool no_sequence_parallel = false;
  bool no_offload = false;
  // Stages begin and end where only the residual stream crosses, and recomputed
  // segments are closed (CloseSegments).
  bool residual_cuts = false;
  bool closed_recompute = false;
  // The recomputation of every transformer layer. Empty: free.
  std::optional<LayerRecompute> recompute;

  bool none() const { return *this == StageLimits(); }
  bool operator==(const StageLimits&) const = default;
};

// Limits that meet both inputs. `contradiction` is set if no stage can meet
// both.
struct JoinedLimits {
  StageLimits limits;
  bool contradiction = false;
};
JoinedLimits Join(const StageLimits& a, const StageLimits& b);

Fingerprint FingerprintOf(const StageLimits& limits);

// Returns the ZeRO stage of a stage of such degrees that would have `wanted`
// without limits. Without replicas, it is 0.
int ZeroStageWithin(const StageLimits& limits,
                    const StageParallelism& parallelism, int wanted);

// Returns the dp ranks over which a stage of such a dp degree shards state.
int ZeroDegreeWithin(const StageLimits& limits, int dp_degree);

// Sets a ZeRO stage, and the zero_degree with it. The degree is left out where
// StageRules would refuse it; WhyOutside then does.
void SetZero(const StageLimits& limits, int zero_stage,
             StageParallelism& parallelism);

// Returns the mask of a layer that would recompute as `wanted` without limits.
OpMask MaskWithin(const StageLimits& limits, const LayerSpec& layer,
                  LayerRecompute wanted);

// Returns why `stage` is not within `limits`: "tp 4, expected 2". Empty if it
// is. Its layers count from the start of `runs`. Does not check the number of
// stages, `residual_cuts` and `closed_recompute`: KeepRunnable does.
std::string WhyOutside(const StageLimits& limits, const StagePlan& stage,
                       absl::Span<const LayerRun> runs);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_STAGE_LIMITS_H_
