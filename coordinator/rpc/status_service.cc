#include "coordinator/rpc/status_service.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/obs/build_info.h"
#include "common/wire/field_checks.h"
#include "common/wire/grpc_status.h"
#include "tangram/v1/status_service.grpc.pb.h"

namespace tangram {
namespace {

void Encode(const PoolWorkerStatus& worker, v1::WorkerStatus& message) {
  message.set_name(worker.info.name);
  for (const AdapterInfo& adapter : worker.info.adapters) {
    message.add_adapters(
        absl::StrCat(adapter.id.name, " ", adapter.id.version));
  }
  message.set_slots(worker.info.capacity);
  message.set_leased(worker.leased);
  message.set_answered(worker.answered);
  message.set_busy_s(worker.busy_s);
  message.set_connected_s(worker.connected_s);
  message.set_silent_s(worker.silent_s);
  message.set_draining(worker.draining);
  message.set_quarantined(worker.quarantined);
  message.set_quarantined_s(worker.quarantined_s);
  message.set_rejected(worker.rejected);
  message.set_last_fault(worker.last_fault);
  message.set_away(!worker.connected);
  message.set_version(worker.info.version);
  message.set_source(ToString(worker.info.identity));
}

std::vector<PoolWorkerStatus> WorkersByName(WorkerPool& pool) {
  std::vector<PoolWorkerStatus> workers = pool.Workers();
  std::stable_sort(workers.begin(), workers.end(),
                   [](const PoolWorkerStatus& a, const PoolWorkerStatus& b) {
                     return a.info.name < b.info.name;
                   });
  return workers;
}

class StatusService : public v1::Status::CallbackService {
 public:
  explicit StatusService(const StatusServiceParts& parts) : parts_(parts) {}

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const v1::GetStatusRequest*,
                                      v1::CoordinatorStatus* status) override {
    *status = StatusOf(parts_);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  const StatusServiceParts parts_;
};

// Lists workers and ends quarantines.
class WorkersService : public v1::Workers::CallbackService {
 public:
  explicit WorkersService(WorkerPool& pool) : pool_(pool) {}

  grpc::ServerUnaryReactor* ListWorkers(grpc::CallbackServerContext* context,
                                        const v1::ListWorkersRequest*,
                                        v1::WorkerList* list) override {
    for (const PoolWorkerStatus& worker : WorkersByName(pool_)) {
      Encode(worker, *list->add_workers());
    }
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerUnaryReactor* ReleaseWorker(
      grpc::CallbackServerContext* context,
      const v1::ReleaseWorkerRequest* request,
      v1::ReleaseWorkerResponse*) override {
    absl::Status status = CheckName("name", request->name());
    if (status.ok()) status = pool_.ReleaseWorker(request->name());
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(ToGrpc(status));
    return reactor;
  }

 private:
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
  for (const PoolWorkerStatus& worker : WorkersByName(parts.pool)) {
    if (worker.connected) Encode(worker, *status.add_workers());
  }
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
