#ifndef TANGRAM_COORDINATOR_RPC_WORKER_POOL_SERVICE_H_
#define TANGRAM_COORDINATOR_RPC_WORKER_POOL_SERVICE_H_

#include <memory>

#include "coordinator/auth/authenticator.h"
#include "coordinator/dispatch/worker_pool.h"
#include "coordinator/rpc/worker_admission.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace tangram {

// Creates the service that workers dial
// (proto/tangram/v1/worker_pool_service.proto). Each stream is a worker of
// `pool` if `admission` lets it in. `authenticator` tells who dials. All must
// outlive the service.
std::unique_ptr<grpc::Service> CreateWorkerPoolService(
    WorkerPool& pool, WorkerAdmission& admission, Authenticator& authenticator);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_WORKER_POOL_SERVICE_H_
