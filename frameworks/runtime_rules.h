#ifndef TANGRAM_FRAMEWORKS_RUNTIME_RULES_H_
#define TANGRAM_FRAMEWORKS_RUNTIME_RULES_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/island.h"
#include "common/planner/runtime_catalogue.h"
#include "frameworks/framework_export.h"
#include "frameworks/framework_table.h"

namespace tangram {

// Restrictions that make a search find plans that a framework can run. They
// narrow the search only: the framework's export decides what it accepts, see
// FitPlan.

// Returns a variant for each value of what stages share that is possible on
// some island. A tp degree is a power of two or one of `more_tp`.
std::vector<RuntimeVariant> VariantsOf(const Framework& framework,
                                       const ModelSpec& model,
                                       const TrainingOptions& training,
                                       absl::Span<const IslandSpec> islands,
                                       absl::Span<const int> more_tp);

// Returns the plan that the framework runs for `planned`, according to its
// export. Exporting the result has no losses except those of the training.
// Otherwise returns the export's refusal, or kInvalidArgument with a loss that
// remains.
absl::StatusOr<PipelinePlan> FitPlan(const Framework& framework,
                                     PlannedTraining planned);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_RUNTIME_RULES_H_
