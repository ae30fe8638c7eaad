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

// Running copies of one adapter program, one for each thread that asks at the
// same time. Each copy gets one question at a time. A copy that dies is
// replaced; pauses before a start grow while copies keep dying. Thread-safe.
class AdapterPool {
 public:
  using ShouldStop = AdapterProcess::ShouldStop;
  using Question = absl::FunctionRef<CallResult(AdapterProcess&)>;

  // Starts the first copy. Returns kInvalidArgument if it does not describe
  // itself.
  static absl::StatusOr<std::unique_ptr<AdapterPool>> Create(
      ProcessOptions options);

  const AdapterInfo& info() const { return info_; }

  // Asks a copy of the program, and a new one if that dies. An error carries
  // the program's name in front. kInvalidArgument and kUnimplemented come from
  // the program itself; every misbehaviour is kInternal. Returns kCancelled
  // after `should_stop`.
  absl::Status Ask(Question question, const ShouldStop& should_stop);

 private:
  using Clock = std::chrono::steady_clock;

  explicit AdapterPool(ProcessOptions options);

  // Returns an idle copy, or a new one.
  absl::StatusOr<std::unique_ptr<AdapterProcess>> Take(
      const ShouldStop& should_stop);
  absl::Status AwaitTurn(const ShouldStop& should_stop);
  void Return(std::unique_ptr<AdapterProcess> process);
  absl::Status OnDeath(const absl::Status& death);

  const ProcessOptions options_;
  AdapterInfo info_;
  Mutex mutex_;
  std::vector<std::unique_ptr<AdapterProcess>> idle_ ABSL_GUARDED_BY(mutex_);
  // 0 if the last answer came after the last death.
  double backoff_s_ ABSL_GUARDED_BY(mutex_) = 0;
  Clock::time_point next_start_ ABSL_GUARDED_BY(mutex_);
  SparseTimes deaths_
      ABSL_GUARDED_BY(mutex_);  // Limits how often deaths are logged.
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_ADAPTER_POOL_H_
