#ifndef TANGRAM_COMMON_DOMAIN_CLOSED_SEGMENTS_H_
#define TANGRAM_COMMON_DOMAIN_CLOSED_SEGMENTS_H_

#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// Tensors skip operators of a layer: the residuals skip attention and MLP, and
// the values skip the scores inside the attention core. A recomputed segment is
// closed if it holds every user of such a tensor that it makes. Then nothing
// but the output of its last operator leaves it.

// Returns `mask` with the operators of `layer` that close its segments. Keeps
// kDropOutputs.
OpMask CloseSegments(const LayerSpec& layer, OpMask mask);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_CLOSED_SEGMENTS_H_
