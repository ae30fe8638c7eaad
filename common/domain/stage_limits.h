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
  int max_zero_stage = 3;
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
