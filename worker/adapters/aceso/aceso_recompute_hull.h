#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_RECOMPUTE_HULL_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_RECOMPUTE_HULL_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/stage_plan.h"

namespace tangram::aceso {

// What recomputing one operator of a layer costs and frees.
struct RecomputeOperator {
  double forward_s = 0;
  double saved_bytes = 0;
  double input_bytes = 0;
};

// What a layer keeps for its backward pass:
//   Σ_{i ∉ mask} saved_i + Σ_{segments} input_first
// where a segment is a maximal run of recomputed operators.
double KeptBytes(absl::Span<const RecomputeOperator> operators, OpMask mask);

// The recompute masks of one layer that are worth having, from none to the one
// that keeps the fewest bytes. Each trades seconds for bytes at a better rate
// than the next: they are the corners of the lower convex hull of (bytes kept,
// seconds recomputed) over all masks, less those that are hardly off it. Never
// empty; the first is kRecomputeNone.
//
// Deviates from the paper, which takes groups of operators by freed bytes
// alone: by bytes per second is never slower.
std::vector<OpMask> RecomputeHull(
    absl::Span<const RecomputeOperator> operators);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_RECOMPUTE_HULL_H_
