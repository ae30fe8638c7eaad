#ifndef TANGRAM_COMMON_COST_LEAST_WORK_H_
#define TANGRAM_COMMON_COST_LEAST_WORK_H_

#include <vector>

#include "common/domain/device.h"
#include "common/domain/model_spec.h"
#include "common/domain/training_options.h"

// The least that the cost model can charge for work, whatever the degrees and
// microbatches. No plan of any kind does it for less.
namespace tangram {

// Whether LeastWork bounds the times on a device. Measurements override the
// model in ways that depend on every degree, so they prove nothing.
bool HasLeastWork(const DeviceSpec& device);

// The least of one operator on one device.
struct LeastWork {
  // GPU-seconds of the forward and backward pass of one sample, summed over the
  // GPUs that share it, without collectives, recomputation and host copies.
  double gpu_s = 0;
  // Seconds in which the host issues the kernels of a forward pass and those of
  // a backward pass. Independent of degrees and samples.
  double forward_host_s = 0;
  double backward_host_s = 0;
};

// Returns the least of each operator of `layer`, in order, over all degrees of
// a stage, all microbatches of at most the global batch, recomputation, ZeRO
// and offloading. HasLeastWork(device) holds.
std::vector<LeastWork> LeastWorkOf(const LayerSpec& layer,
                                   const DeviceSpec& device,
                                   const TrainingOptions& training);

// Returns the least GPU-seconds of the optimizer for one parameter.
double LeastOptimizerSeconds(const DeviceSpec& device,
                             const TrainingOptions& training);

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_LEAST_WORK_H_
