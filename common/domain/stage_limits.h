#ifndef TANGRAM_COMMON_DOMAIN_STAGE_LIMITS_H_
#define TANGRAM_COMMON_DOMAIN_STAGE_LIMITS_H_

#include <string>

#include "common/base/fingerprint.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// What the stages of a slice must be, whatever would be fastest: asked for by
// people, or by the framework that is to run them. 0: free.
struct StageLimits {
  int tp_degree = 0;
  int cp_degree = 0;
  int dp_degree = 0;
  int gpus_per_stage = 0;
  int max_stages = 0;  // Of the slice.
  int max_zero_stage = 3;
  bool no_sequence_parallel = false;
  bool no_offload = false;

  bool none() const { return *this == StageLimits(); }
  bool operator==(const StageLimits&) const = default;
};

// What both ask for. Where they contradict each other, nothing is within both:
// `contradiction` says so.
struct JoinedLimits {
  StageLimits limits;
  bool contradiction = false;
};
JoinedLimits Join(const StageLimits& a, const StageLimits& b);

Fingerprint FingerprintOf(const StageLimits& limits);

// Why `stage` is not within `limits`: "tp 4, expected 2". Empty if it is. The
// number of stages is not looked at.
std::string WhyOutside(const StageLimits& limits, const StagePlan& stage);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_STAGE_LIMITS_H_
