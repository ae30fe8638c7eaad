#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_RECOMPUTE_HULL_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_RECOMPUTE_HULL_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"

namespace tangram::aceso {

// One operator of a layer as recomputation sees it.
struct RecomputeOperator {
  double forward_s = 0;    // Time to recompute it.
  double saved_bytes = 0;  // Activations kept unless it is recomputed.
  double input_bytes = 0;  // Its input, kept if a segment begins with it.
};

// Returns the bytes that a layer keeps for its backward pass:
//   Σ_{i ∉ mask} saved_i + Σ_{segments} input_first
// A segment is a maximal run of recomputed operators.
double KeptBytes(absl::Span<const RecomputeOperator> operators, OpMask mask);

// Returns the useful recompute masks of one layer, from none to the one that
// keeps the fewest bytes. They are the vertices of the lower convex hull of
// (bytes kept, seconds recomputed) over all masks, without vertices that lie
// within 0.5 % of a line between others. So each mask trades seconds for bytes
// at a better rate than the next. Never empty; the first is kRecomputeNone.
// Given the layer `closed_in`, only closed segments of it count
// (CloseSegments).
//
// Deviates from the paper, which takes groups of operators by freed bytes
// alone. Choosing by bytes per second is never slower.
std::vector<OpMask> RecomputeHull(absl::Span<const RecomputeOperator> operators,
                                  const LayerSpec* closed_in = nullptr);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_RECOMPUTE_HULL_H_
