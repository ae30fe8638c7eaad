#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PLAN_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PLAN_H_

#include "common/domain/model_slice.h"
#include "common/domain/slice_plan.h"
#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// Converts a complete configuration into a slice plan. Times and memory come
// from the cost model, not from the search's tables.
SlicePlan PlanOf(CostTables& tables, const ModelSlice& slice,
                 const Configuration& configuration);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PLAN_H_
