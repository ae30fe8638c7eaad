#ifndef TANGRAM_CLI_COMMANDS_MAKE_PLAN_H_
#define TANGRAM_CLI_COMMANDS_MAKE_PLAN_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/args/options.h"
#include "cli/planning/local_planning.h"
#include "cli/print/console.h"
#include "common/planner/cluster_planner.h"
#include "common/wire/plan_file.h"

namespace tangram {

// Returns why the precision is not that of the model's weights. Empty: it is,
// or somebody chose it.
std::string PrecisionNote(const PlanOptions& options,
                          const PlanRequest& request);

// Plans in this process or on a coordinator. Notes in the answer say what was
// chosen for the caller, the parallelizers and the precision, and what the
// model's layers lack.
// `tracer` may be null. kDeadlineExceeded names --timeout, kCancelled the job
// that goes on.
absl::StatusOr<PlanFile> MakePlan(const PlanOptions& options,
                                  const PlanRequest& request,
                                  const PlanningSetup& setup, Console& console,
                                  PlanTracer* tracer);

}  // namespace tangram

#endif  // TANGRAM_CLI_COMMANDS_MAKE_PLAN_H_
