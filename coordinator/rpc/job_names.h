#ifndef TANGRAM_COORDINATOR_RPC_JOB_NAMES_H_
#define TANGRAM_COORDINATOR_RPC_JOB_NAMES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/auth/caller.h"

namespace tangram {

// Returns the id of the job that `caller` calls `name`. A name without a slash
// is a job of the caller's tenant. Operators may also say "tenant/name".
// Returns kNotFound for jobs of other tenants, as for jobs that do not exist,
// and kInvalidArgument for no name.
absl::StatusOr<std::string> JobIdOf(const std::string& name,
                                    const Caller& caller);

// Returns the name by which `caller` can ask for the job of this id.
std::string JobNameFor(const std::string& job_id, const Caller& caller);

// Returns an error about the job of this id with the name by which `caller` can
// ask for it, in place of the id.
absl::Status WithJobName(const absl::Status& status, const std::string& job_id,
                         const Caller& caller);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_JOB_NAMES_H_
