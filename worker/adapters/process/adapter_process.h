#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_ADAPTER_PROCESS_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_ADAPTER_PROCESS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/parallelizer/query.h"
#include "worker/adapters/process/process_options.h"

namespace tangram::v1 {
class Model;
class ParallelizeRequest;
class PerformanceProfile;
class ProfileRequest;
class SliceList;
class SlicePlanSet;
}  // namespace tangram::v1

namespace tangram {

// How a call ended.
enum class CallEnd {
  kAnswered,  // With an answer, or with the adapter's own error.
  kDied,      // The process is gone; a new one may succeed.
  kTimedOut,  // The process was killed because it took too long.
  kStopped,  // Stopped by the caller. The process was killed, because it cannot
             // be told to stop.
};

// The end of a call and its error, if any.
struct CallResult {
  CallEnd end = CallEnd::kAnswered;
  absl::Status status;  // For kDied and kTimedOut: what happened.
};

// A running adapter program and the connection to it. Takes one call at a time.
class AdapterProcess {
 public:
  // Polled during every wait.
  using ShouldStop = std::function<bool()>;

  // Starts the program and waits until it describes itself. Returns kCancelled
  // after `should_stop`.
  static absl::StatusOr<std::unique_ptr<AdapterProcess>> Start(
      const ProcessOptions& options, const ShouldStop& should_stop);

  virtual ~AdapterProcess() = default;  // Kills the program.

  virtual const AdapterInfo& info() const = 0;
  virtual bool IsAlive() = 0;

  virtual CallResult Call(const v1::Model& request, v1::SliceList& answer) = 0;
  virtual CallResult Call(const v1::SliceList& request,
                          v1::SliceList& answer) = 0;
  virtual CallResult Call(const v1::ProfileRequest& request,
                          v1::PerformanceProfile& answer) = 0;
  virtual CallResult Call(const v1::ParallelizeRequest& request,
                          v1::SlicePlanSet& answer,
                          const ShouldStop& should_stop) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_ADAPTER_PROCESS_H_
