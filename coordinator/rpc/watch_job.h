#ifndef TANGRAM_COORDINATOR_RPC_WATCH_JOB_H_
#define TANGRAM_COORDINATOR_RPC_WATCH_JOB_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "absl/status/statusor.h"
#include "coordinator/auth/caller.h"
#include "coordinator/rpc/job_watchers.h"
#include "coordinator/rpc/tenant_quota.h"
#include "coordinator/store/job_store.h"

namespace tangram {

// The parts that a watch needs. All must outlive the call.
struct WatchJobParts {
  JobStore& store;
  JobWatchers& watchers;
  TenantQuota& quota;
};

// Streams the updates of a job until it has ended, if the caller may see it.
// The reactor deletes itself.
grpc::ServerWriteReactor<grpc::ByteBuffer>* StartWatch(
    const WatchJobParts& parts, const grpc::ByteBuffer& request,
    const absl::StatusOr<Caller>& caller);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_WATCH_JOB_H_
