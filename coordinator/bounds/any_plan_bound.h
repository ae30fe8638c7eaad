#ifndef TANGRAM_COORDINATOR_BOUNDS_ANY_PLAN_BOUND_H_
#define TANGRAM_COORDINATOR_BOUNDS_ANY_PLAN_BOUND_H_

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/training_options.h"

namespace tangram {

// Returns a lower bound in seconds on the simulated iteration time of any plan
// of `model` on the cluster without the nodes `left_out`, which are ascending:
// any stages and degrees, unlike replicas, recomputation, ZeRO, offloading,
// microbatches, schedule, and any number of pipelines. 0: none is proven, for
// devices with measured operators or layers, and for more than
// kMostDeviceKinds kinds of devices.
//
// It is a roofline: every operator at the best rate that some GPU reaches for
// it, all GPUs busy all the time, and links that take no time.
double AnyPlanSeconds(const ModelSpec& model, const Cluster& cluster,
                      absl::Span<const int> left_out,
                      const TrainingOptions& training);

// The devices of unlike GPUs in one stage are bounded by trying all sets of
// kinds.
inline constexpr int kMostDeviceKinds = 8;

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_BOUNDS_ANY_PLAN_BOUND_H_
