#ifndef TANGRAM_COORDINATOR_RPC_WAIT_JOB_H_
#define TANGRAM_COORDINATOR_RPC_WAIT_JOB_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <functional>

#include "absl/status/statusor.h"
#include "coordinator/auth/caller.h"
#include "coordinator/rpc/watch_job.h"

namespace tangram {

// Answers a tangram.v1.WaitJobRequest once the job has ended or the time is up,
// if the caller may see it. `now_s` never goes back. The reactor deletes
// itself. Counts among the watches of the tenant.
grpc::ServerUnaryReactor* StartWait(const WatchJobParts& parts,
                                    const std::function<double()>& now_s,
                                    const grpc::ByteBuffer& request,
                                    const absl::StatusOr<Caller>& caller,
                                    grpc::ByteBuffer& response);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_WAIT_JOB_H_
