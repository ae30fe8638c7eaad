#ifndef TANGRAM_CLI_ARGS_CONSTRAINTS_H_
#define TANGRAM_CLI_ARGS_CONSTRAINTS_H_

#include "absl/status/statusor.h"
#include "cli/args/options.h"
#include "common/planner/plan_constraints.h"

namespace tangram {

// Constraints as they were typed, for a model of so many layers, embedding and
// head included. kInvalidArgument naming the option. Whether there are such
// nodes and islands is the planner's to say.
absl::StatusOr<PlanConstraints> MakeConstraints(const ConstraintChoice& choice,
                                                int num_layers);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_CONSTRAINTS_H_
