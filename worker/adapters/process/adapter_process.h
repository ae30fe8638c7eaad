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

// How a call that got no answer ended, other than with the adapter's error.
enum class CallEnd {
  kAnswered,  // With an answer, or an error of the adapter's own.
  kDied,      // The process is gone; a new one may do better.
  kTimedOut,  // The process was killed for it.
  kStopped,   // By the caller; the process was killed, as it cannot be told.
};

struct CallResult {
  CallEnd end = CallEnd::kAnswered;
  absl::Status status;  // Of kDied and kTimedOut: what happened.
};

// One running adapter program and the connection to it. One call at a time.
class AdapterProcess {
 public:
  // Polled while something is waited for.
  using ShouldStop = std::function<bool()>;

  // Starts it and waits until it says who it is. kCancelled once told to stop.
  static absl::StatusOr<std::unique_ptr<AdapterProcess>> Start(
      const ProcessOptions& options, const ShouldStop& should_stop);

  virtual ~AdapterProcess() = default;  // Kills it.

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
