#ifndef TANGRAM_COORDINATOR_RPC_WORKER_POOL_SERVICE_H_
#define TANGRAM_COORDINATOR_RPC_WORKER_POOL_SERVICE_H_

#include <memory>

#include "coordinator/auth/authenticator.h"
#include "coordinator/dispatch/worker_pool.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace tangram {

// Creates the service that workers dial
// (proto/tangram/v1/worker_pool_service.proto). Each stream is a worker of
// `pool`. `authenticator` tells who dials. Both must outlive the service.
std::unique_ptr<grpc::Service> CreateWorkerPoolService(
    WorkerPool& pool, Authenticator& authenticator);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_WORKER_POOL_SERVICE_H_
