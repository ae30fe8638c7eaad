#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_ADAPTER_POOL_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_ADAPTER_POOL_H_

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/obs/sparse_warning.h"
#include "common/sync/mutex.h"
#include "worker/adapters/process/adapter_process.h"

namespace tangram {

// Running copies of one adapter program, each asked one thing at a time: as
// many as there are threads that ask at once. One that dies is replaced, with
// pauses that grow while they go on dying. Thread-safe.
class AdapterPool {
 public:
  using ShouldStop = AdapterProcess::ShouldStop;
  using Question = absl::FunctionRef<CallResult(AdapterProcess&)>;

  // Starts the first. kInvalidArgument if it does not say who it is.
  static absl::StatusOr<std::unique_ptr<AdapterPool>> Create(
      ProcessOptions options);

  const AdapterInfo& info() const { return info_; }

  // Asks a process, and a new one if that dies. Errors of the program have its
  // name in front: kInvalidArgument and kUnimplemented are its own, kInternal
  // is all that it should not do. kCancelled once told to stop.
  absl::Status Ask(Question question, const ShouldStop& should_stop);

 private:
  using Clock = std::chrono::steady_clock;

  explicit AdapterPool(ProcessOptions options);

  // An idle process, or a new one.
  absl::StatusOr<std::unique_ptr<AdapterProcess>> Take(
      const ShouldStop& should_stop);
  absl::Status AwaitTurn(const ShouldStop& should_stop);
  void Return(std::unique_ptr<AdapterProcess> process);
  absl::Status OnDeath(const absl::Status& death);

  const ProcessOptions options_;
  AdapterInfo info_;
  Mutex mutex_;
  std::vector<std::unique_ptr<AdapterProcess>> idle_ ABSL_GUARDED_BY(mutex_);
  // 0: the last answer came after the last death.
  double backoff_s_ ABSL_GUARDED_BY(mutex_) = 0;
  Clock::time_point next_start_ ABSL_GUARDED_BY(mutex_);
  SparseTimes deaths_ ABSL_GUARDED_BY(mutex_);  // In the log.
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_ADAPTER_POOL_H_
