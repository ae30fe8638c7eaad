#ifndef TANGRAM_COORDINATOR_RPC_JOB_NAMES_H_
#define TANGRAM_COORDINATOR_RPC_JOB_NAMES_H_

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/auth/caller.h"

namespace tangram {

// What callers call jobs. A caller's name without a slash is a job of his
// tenant; those who operate may also say "tenant/name".

// The id of the job that `caller` means by `name`. kNotFound for other tenants'
// jobs, as for those that do not exist.
absl::StatusOr<std::string> JobIdOf(const std::string& name,
                                    const Caller& caller);

// The name by which `caller` can ask for the job of that id.
std::string JobNameFor(const std::string& job_id, const Caller& caller);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_JOB_NAMES_H_
