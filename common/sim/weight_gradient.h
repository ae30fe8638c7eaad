#ifndef TANGRAM_COMMON_SIM_WEIGHT_GRADIENT_H_
#define TANGRAM_COMMON_SIM_WEIGHT_GRADIENT_H_

#include <algorithm>

#include "common/cost/stage_cost.h"

namespace tangram {

// Returns the part of a stage's backward pass that computes the gradients of
// weights and can run later. For a matrix product, the gradients of the input
// and of the weights take the same number of FLOPs. So it is half of the
// backward pass without recomputation, collectives and copies from the host.
// These are all needed before the gradient of the input is known. Collectives
// take the time c in the forward pass, the same in the backward pass, and again
// in the recomputed share r/f:
//   comm = c + c + c r/f.
inline double WeightGradientSeconds(const StageCost& cost) {
  const double forward_s = cost.forward_s - cost.forward_copy_s;
  const double backward_comm_s =
      cost.comm_s * forward_s / (2 * forward_s + cost.recompute_s);
  return std::max(0.0, (cost.backward_s - cost.backward_copy_s -
                        cost.recompute_s - backward_comm_s) /
                           2);
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_WEIGHT_GRADIENT_H_
