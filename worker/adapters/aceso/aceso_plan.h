#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PLAN_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PLAN_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/model_slice.h"
#include "common/domain/slice_plan.h"
#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// The plan that a complete configuration stands for, with the cost model's own
// figures.
SlicePlan PlanOf(CostTables& tables, const ModelSlice& slice,
                 const Configuration& configuration);

// Indices, ascending, of the plans that no other is at least as good as in
// every respect: slowest stage, latency, last stage, longest synchronisation
// of a stage, number of stages, trailing stages borne. Of equals the first
// counts.
std::vector<int> NonDominated(absl::Span<const SlicePlan* const> plans);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PLAN_H_
