#ifndef TANGRAM_CLI_REMOTE_TENANT_CALLS_H_
#define TANGRAM_CLI_REMOTE_TENANT_CALLS_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/planning/plan_monitor.h"
#include "common/security/channel.h"
#include "tangram/v1/tenant_service.pb.h"

// The calls of proto/tangram/v1/tenant_service.proto. Errors as in job_calls.h.
// An empty tenant is that of the caller's token.
namespace tangram {

absl::StatusOr<v1::TenantUsage> GetTenantUsage(
    const CoordinatorAccess& coordinator, const std::string& tenant,
    const StopCondition& stop);

// Calls `take` with each job, newest first. Ends with the first error of it.
absl::Status ExportTenant(
    const CoordinatorAccess& coordinator, const std::string& tenant,
    const StopCondition& stop,
    absl::FunctionRef<absl::Status(const v1::TenantRecord&)> take);

// Returns the number of jobs deleted.
absl::StatusOr<int64_t> EraseTenant(const CoordinatorAccess& coordinator,
                                    const std::string& tenant,
                                    const StopCondition& stop);

}  // namespace tangram

#endif  // TANGRAM_CLI_REMOTE_TENANT_CALLS_H_
