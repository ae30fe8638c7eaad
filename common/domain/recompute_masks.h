#ifndef TANGRAM_COMMON_DOMAIN_RECOMPUTE_MASKS_H_
#define TANGRAM_COMMON_DOMAIN_RECOMPUTE_MASKS_H_

#include <vector>

#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// Returns a mask of every operator of `layer`.
OpMask WholeLayerMask(const LayerSpec& layer);

// Returns a mask of the attention core; kRecomputeNone in a layer without
// attention.
OpMask AttentionCoreMask(const LayerSpec& layer);

// Appends one layer with `mask` to `runs`.
void AppendMask(OpMask mask, std::vector<RecomputeRun>& runs);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_RECOMPUTE_MASKS_H_
