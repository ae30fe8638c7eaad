#ifndef TANGRAM_COMMON_BAND_MARGIN_OF_KIND_H_
#define TANGRAM_COMMON_BAND_MARGIN_OF_KIND_H_

#include "absl/strings/string_view.h"
#include "common/band/residual_table.h"

namespace tangram {

// The margin of a framework with too few published runs that state their
// memory. With it, 95 % of published runs that ran fit (docs/accuracy.md).
inline constexpr double kUsualMemoryMargin = 0.05;

// Returns the share of each GPU's memory that plans for a framework leave free
// unless told otherwise: as much as the 95th percentile of its published runs
// needs beyond the prediction, in whole per cent. Frameworks differ most in
// what they keep beside the model. `framework` as in PredictionTraits.
double MemoryMarginOf(const ResidualTable& table, absl::string_view framework);

}  // namespace tangram

#endif  // TANGRAM_COMMON_BAND_MARGIN_OF_KIND_H_
