#include "worker/service/worker.h"

#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/status_macros.h"
#include "common/obs/clocks.h"
#include "common/obs/log.h"
#include "common/obs/sparse_warning.h"
#include "common/sync/mutex.h"
#include "common/wire/field_checks.h"
#include "common/wire/grpc_settings.h"
#include "worker/service/coordinator_link.h"
#include "worker/service/slots.h"
#include "worker/service/worker_metrics.h"

namespace tangram {
namespace {

// Interval at which a worker without a coordinator checks whether it should
// stop, and at which it logs that it has none.
constexpr std::chrono::milliseconds kStopPollInterval(200);
constexpr std::chrono::seconds kComplainInterval(10);

// Keeps a stream open to one coordinator.
class Dialer {
 public:
  // `options`, `slots` and `metrics` must outlive the dialer.
  Dialer(const std::string& address, std::shared_ptr<grpc::Channel> channel,
         const WorkerOptions& options, Slots& slots, WorkerMetrics& metrics)
      : address_(address),
        options_(options),
        slots_(slots),
        metrics_(metrics),
        channel_(std::move(channel)),
        thread_([this] { Run(); }) {}

  void Drain(double timeout_s) {
    std::shared_ptr<CoordinatorLink> link;
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
      link = link_;
      wake_.NotifyAll();
    }
    if (link != nullptr) link->Drain(timeout_s);
    const MutexLock lock(join_mutex_);
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    double backoff_s = options_.min_backoff_s;
    absl::StatusCode last_code = absl::StatusCode::kOk;
    SparseTimes ends;  // Consecutive ends with the same code.
    while (WaitForCoordinator()) {
      const std::shared_ptr<CoordinatorLink> link = OpenLink();
      if (link == nullptr) return;
      const double began_s = SteadySeconds();
      const absl::Status status = link->Run();
      // A stream that lasted resets the backoff.
      const bool was_good = SteadySeconds() - began_s > options_.max_backoff_s;
      if (was_good) backoff_s = options_.min_backoff_s;
      if (was_good || status.code() != last_code) ends = {};
      last_code = status.code();
      const MutexLock lock(mutex_);
      link_ = nullptr;
      if (stopping_) return;
      if (const auto times = ends.Note(SteadySeconds()); times.has_value()) {
        Log(LogLevel::kWarning, "disconnected",
            {{"coordinator", address_},
             {"reason", status.ToString()},
             {"retry_in_s", backoff_s},
             {"times", *times}});
      }
      wake_.WaitFor(
          mutex_, std::chrono::duration<double>(backoff_s),
          [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; });
      backoff_s = std::min(2 * backoff_s, options_.max_backoff_s);
    }
  }

  // Returns false when it is time to stop. The channel keeps trying to connect
  // by itself.
  bool WaitForCoordinator() {
    auto complain = std::chrono::steady_clock::now() + kStopPollInterval;
    while (!channel_->WaitForConnected(std::chrono::system_clock::now() +
                                       kStopPollInterval)) {
      const MutexLock lock(mutex_);
      if (stopping_) return false;
      if (std::chrono::steady_clock::now() < complain) continue;
      complain = std::chrono::steady_clock::now() + kComplainInterval;
      Log(LogLevel::kWarning, "coordinator cannot be reached",
          {{"coordinator", address_}});
    }
    return true;
  }

  // Returns null when it is time to stop.
  std::shared_ptr<CoordinatorLink> OpenLink() {
    const MutexLock lock(mutex_);
    if (stopping_) return nullptr;
    link_ =
        CoordinatorLink::Create(address_, channel_, options_, slots_, metrics_);
    return link_;
  }

  const std::string address_;
  const WorkerOptions& options_;
  Slots& slots_;
  WorkerMetrics& metrics_;
  const std::shared_ptr<grpc::Channel> channel_;
  Mutex mutex_;
  ConditionVariable wake_;
  // Shared with Drain, while it drains.
  std::shared_ptr<CoordinatorLink> link_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Mutex join_mutex_;    // Drains join one after the other.
  std::thread thread_;  // Joined with join_mutex_ held.
};

class Daemon : public Worker {
 public:
  // Takes one channel for each coordinator.
  Daemon(WorkerOptions options,
         std::vector<std::shared_ptr<grpc::Channel>> channels, Metrics& metrics)
      : options_(std::move(options)),
        slots_(options_.num_threads),
        metrics_(metrics) {
    for (size_t i = 0; i < channels.size(); ++i) {
      dialers_.push_back(std::make_unique<Dialer>(
          options_.coordinators[i].address, std::move(channels[i]), options_,
          slots_, metrics_));
    }
  }
  ~Daemon() override { Drain(/*timeout_s=*/0); }

  void Drain(double timeout_s) override {
    std::vector<std::thread> drains;
    for (const auto& dialer : dialers_) {
      drains.emplace_back([&] { dialer->Drain(timeout_s); });
    }
    for (std::thread& drain : drains) drain.join();
  }

 private:
  const WorkerOptions options_;
  Slots slots_;
  WorkerMetrics metrics_;
  std::vector<std::unique_ptr<Dialer>> dialers_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Worker>> Worker::Start(WorkerOptions options,
                                                      Metrics& metrics) {
  // A coordinator would refuse this name at every attempt.
  TANGRAM_RETURN_IF_ERROR(CheckWorkerName("--name", options.name));
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (const CoordinatorAccess& access : options.coordinators) {
    TANGRAM_ASSIGN_OR_RETURN(
        channels.emplace_back(),
        OpenChannel(access, AccessFlags(), ChannelSettings()));
  }
  return std::make_unique<Daemon>(std::move(options), std::move(channels),
                                  metrics);
}

}  // namespace tangram
