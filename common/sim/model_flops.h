#ifndef TANGRAM_COMMON_SIM_MODEL_FLOPS_H_
#define TANGRAM_COMMON_SIM_MODEL_FLOPS_H_

#include "common/domain/model_spec.h"
#include "common/domain/training_options.h"

namespace tangram {

// Returns the FLOPs of training one sample: forward and backward pass of all
// matrix products and of attention, without recomputation. Model FLOPs
// utilization counts the same (PaLM, 2204.02311, appendix B; Megatron-LM,
// 2104.04473, §5.1). Attention counts the whole score matrix, causal or not.
double ModelFlops(const ModelSpec& model, const TrainingOptions& training);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_MODEL_FLOPS_H_
