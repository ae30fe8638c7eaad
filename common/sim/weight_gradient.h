#ifndef TANGRAM_COMMON_SIM_WEIGHT_GRADIENT_H_
#define TANGRAM_COMMON_SIM_WEIGHT_GRADIENT_H_

#include <algorithm>

#include "common/cost/stage_cost.h"

namespace tangram {

// The part of a stage's backward pass that computes the gradients of weights
// and can run later. Of a matrix product, the gradients of the input and of the
// weights take as many FLOPs each; so half of what is left of the backward pass
// without recomputation, collectives and copies from the host, which all are
// needed before the gradient of the input is known. Collectives run in the
// backward pass as they do in the forward pass c, and again in its recomputed
// share r/f:
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
