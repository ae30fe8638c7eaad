#ifndef TANGRAM_COMMON_DOMAIN_MIXED_STAGE_H_
#define TANGRAM_COMMON_DOMAIN_MIXED_STAGE_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// The way in which the groups of a mixed stage share the work.
enum class StageSharing {
  // Each group takes its samples of every microbatch. The stage is as fast as
  // its slowest group: t = max_g t_g(samples_g).
  kLockStep,
  // Each group takes whole microbatches: one every 1 / Σ_g (1 / t_g) if the
  // shares are in proportion to the speeds.
  kRouted,
};

inline constexpr StageSharing kStageSharings[] = {StageSharing::kLockStep,
                                                  StageSharing::kRouted};

const char* StageSharingName(StageSharing sharing);  // "lock-step", "routed".

// Equal replicas of a stage: dp_degree of them, each on tp · cp GPUs.
struct ReplicaGroup {
  StageParallelism parallelism;
  // With kLockStep, samples of each pipeline microbatch. With kRouted,
  // microbatches of each iteration.
  int share = 0;
  bool operator==(const ReplicaGroup&) const = default;
};

// The groups of a stage whose replicas differ in GPU type, degrees or share. A
// stage without groups has equal replicas, as its StagePlan says. Group g runs
// on the next parallelism.num_gpus() GPUs of the stage.
struct MixedReplicas {
  StageSharing sharing = StageSharing::kLockStep;
  std::vector<ReplicaGroup> groups;

  bool empty() const { return groups.empty(); }
  bool operator==(const MixedReplicas&) const = default;
};

// Returns the group of each microbatch, for Σ shares microbatches. The next
// microbatch goes to the group with the least (taken + 1/2) / share, the first
// of equal ones (Webster's method). So each group takes exactly its share, at
// nearly even distances. O(Σ shares · groups). Shares are positive.
std::vector<int> RouteMicrobatches(absl::Span<const int> shares);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_MIXED_STAGE_H_
