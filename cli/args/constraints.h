#ifndef TANGRAM_CLI_ARGS_CONSTRAINTS_H_
#define TANGRAM_CLI_ARGS_CONSTRAINTS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/args/options.h"
#include "common/planner/plan_constraints.h"

namespace tangram {

// Parses constraints as they were typed. `num_layers` counts the model's
// layers, embedding and head included. kInvalidArgument names the option. The
// planner checks that the named nodes and islands exist.
absl::StatusOr<PlanConstraints> MakeConstraints(const ConstraintChoice& choice,
                                                int num_layers);

// Names the option, "--pp", where an error begins with the field of a request
// that it sets, "constraints.pp_degree".
absl::Status NameOption(const absl::Status& error);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_CONSTRAINTS_H_
