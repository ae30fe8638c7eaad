#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PLAN_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PLAN_H_

#include "common/domain/model_slice.h"
#include "common/domain/slice_plan.h"
#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// The plan that a complete configuration stands for, with the cost model's own
// figures.
SlicePlan PlanOf(CostTables& tables, const ModelSlice& slice,
                 const Configuration& configuration);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PLAN_H_
