#include "coordinator/rpc/status_service.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <vector>

#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "common/obs/build_info.h"
#include "common/wire/field_checks.h"
#include "common/wire/grpc_status.h"
#include "coordinator/rpc/received_message.h"
#include "coordinator/rpc/worker_list.h"
#include "tangram/v1/status_service.grpc.pb.h"

namespace tangram {
namespace {

// Ends a call with `answer`, or with the reason why there is none.
template <typename Answer>
grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext& context,
                                 const absl::StatusOr<Answer>& answer,
                                 grpc::ByteBuffer& response) {
  if (answer.ok()) response = SerializeMessage(*answer);
  grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
  reactor->Finish(ToGrpc(answer.status()));
  return reactor;
}

// Takes requests as bytes, which are measured before they are parsed.
class StatusService
    : public v1::Status::WithRawCallbackMethod_GetStatus<v1::Status::Service> {
 public:
  explicit StatusService(const StatusServiceParts& parts) : parts_(parts) {}

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override {
    return Finish(*context, Answer(*request), *response);
  }

 private:
  absl::StatusOr<v1::CoordinatorStatus> Answer(const grpc::ByteBuffer& bytes) {
    v1::GetStatusRequest request;
    TANGRAM_RETURN_IF_ERROR(ParseSmallRequest(bytes, request));
    return StatusOf(parts_);
  }

  const StatusServiceParts parts_;
};

using RawWorkers = v1::Workers::WithRawCallbackMethod_ListWorkers<
    v1::Workers::WithRawCallbackMethod_ReleaseWorker<v1::Workers::Service>>;

// Lists workers and ends quarantines.
class WorkersService : public RawWorkers {
 public:
  explicit WorkersService(WorkerPool& pool) : pool_(pool) {}

  grpc::ServerUnaryReactor* ListWorkers(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override {
    return Finish(*context, List(*request), *response);
  }

  grpc::ServerUnaryReactor* ReleaseWorker(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override {
    return Finish(*context, Release(*request), *response);
  }

 private:
  absl::StatusOr<v1::WorkerList> List(const grpc::ByteBuffer& bytes) {
    v1::ListWorkersRequest request;
    TANGRAM_RETURN_IF_ERROR(ParseSmallRequest(bytes, request));
    v1::WorkerList list;
    list.set_workers_left_out(AddWorkers(
        WorkersByName(pool_), kMaxWorkerListBytes, *list.mutable_workers()));
    return list;
  }

  absl::StatusOr<v1::ReleaseWorkerResponse> Release(
      const grpc::ByteBuffer& bytes) {
    v1::ReleaseWorkerRequest request;
    TANGRAM_RETURN_IF_ERROR(ParseSmallRequest(bytes, request));
    TANGRAM_RETURN_IF_ERROR(CheckName("name", request.name()));
    TANGRAM_RETURN_IF_ERROR(pool_.ReleaseWorker(request.name()));
    return v1::ReleaseWorkerResponse();
  }

  WorkerPool& pool_;
};

}  // namespace

v1::CoordinatorStatus StatusOf(const StatusServiceParts& parts) {
  v1::CoordinatorStatus status;
  const WorkerPoolCounts counts = parts.pool.Counts();
  status.set_version(Version());
  status.set_uptime_s(parts.now_s() - parts.began_s);
  status.set_pending(counts.pending);
  status.set_leased(counts.leased);
  status.set_cached_answers(counts.cache_entries);
  status.set_cache_bytes(counts.cache_bytes);
  status.set_running_plans(parts.executor.num_running());
  status.set_waiting_plans(parts.executor.num_waiting());
  status.set_running_jobs(parts.runner.num_running());
  std::vector<PoolWorkerStatus> workers = WorkersByName(parts.pool);
  std::erase_if(workers, [](const PoolWorkerStatus& worker) {
    return !worker.connected;
  });
  status.set_workers_left_out(
      AddWorkers(workers, kMaxWorkerListBytes, *status.mutable_workers()));
  return status;
}

std::unique_ptr<grpc::Service> CreateStatusService(
    const StatusServiceParts& parts) {
  return std::make_unique<StatusService>(parts);
}

std::unique_ptr<grpc::Service> CreateWorkersService(WorkerPool& pool) {
  return std::make_unique<WorkersService>(pool);
}

}  // namespace tangram
