#ifndef TANGRAM_COORDINATOR_RPC_WORKER_LIST_H_
#define TANGRAM_COORDINATOR_RPC_WORKER_LIST_H_

#include <cstdint>
#include <vector>

#include "coordinator/dispatch/worker_pool.h"
#include "tangram/v1/status_service.pb.h"

namespace tangram {

// Limit on the bytes of the workers in an answer. Workers choose their names
// and adapters, some kilobytes each, and gRPC sends no more than
// kMaxMessageBytes.
inline constexpr int64_t kMaxWorkerListBytes = 32 << 20;

// Returns the workers in the order of their names.
std::vector<PoolWorkerStatus> WorkersByName(WorkerPool& pool);

// Appends workers to `list` while they take at most `max_bytes`. Returns how
// many had no room.
int64_t AddWorkers(const std::vector<PoolWorkerStatus>& workers,
                   int64_t max_bytes,
                   google::protobuf::RepeatedPtrField<v1::WorkerStatus>& list);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_WORKER_LIST_H_
