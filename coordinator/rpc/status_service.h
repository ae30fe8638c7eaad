#ifndef TANGRAM_COORDINATOR_RPC_STATUS_SERVICE_H_
#define TANGRAM_COORDINATOR_RPC_STATUS_SERVICE_H_

#include <functional>
#include <memory>

#include "coordinator/dispatch/fair_executor.h"
#include "coordinator/dispatch/worker_pool.h"
#include "coordinator/jobs/job_runner.h"

namespace grpc {
class Service;
}  // namespace grpc
namespace tangram::v1 {
class CoordinatorStatus;
}  // namespace tangram::v1

namespace tangram {

// The parts whose status is asked for. All must outlive the service.
struct StatusServiceParts {
  WorkerPool& pool;
  FairExecutor& executor;  // Runs planning calls.
  JobRunner& runner;
  std::function<double()> now_s;
  double began_s = 0;
};

v1::CoordinatorStatus StatusOf(const StatusServiceParts& parts);

// Creates the service Status of proto/tangram/v1/status_service.proto.
std::unique_ptr<grpc::Service> CreateStatusService(
    const StatusServiceParts& parts);

// Creates the service Workers of the same file. `pool` must outlive it.
std::unique_ptr<grpc::Service> CreateWorkersService(WorkerPool& pool);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_STATUS_SERVICE_H_
