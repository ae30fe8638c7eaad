#include "coordinator/rpc/worker_list.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

// An element of a list has a tag and a length before it.
constexpr int64_t kBytesAroundElement = 8;

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
  if (worker.quarantined && worker.quarantine_left_s < kInfinity) {
    message.set_quarantine_left_s(worker.quarantine_left_s);
  }
  message.set_believed_slots(worker.believed_slots);
  message.set_source(ToString(worker.info.identity));
}

}  // namespace

std::vector<PoolWorkerStatus> WorkersByName(WorkerPool& pool) {
  std::vector<PoolWorkerStatus> workers = pool.Workers();
  std::stable_sort(workers.begin(), workers.end(),
                   [](const PoolWorkerStatus& a, const PoolWorkerStatus& b) {
                     return a.info.name < b.info.name;
                   });
  return workers;
}

int64_t AddWorkers(const std::vector<PoolWorkerStatus>& workers,
                   int64_t max_bytes,
                   google::protobuf::RepeatedPtrField<v1::WorkerStatus>& list) {
  int64_t bytes = 0;
  for (size_t i = 0; i < workers.size(); ++i) {
    v1::WorkerStatus message;
    Encode(workers[i], message);
    bytes += kBytesAroundElement + static_cast<int64_t>(message.ByteSizeLong());
    if (bytes > max_bytes) return static_cast<int64_t>(workers.size() - i);
    *list.Add() = std::move(message);
  }
  return 0;
}

}  // namespace tangram
