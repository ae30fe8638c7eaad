#include "worker/service/worker.h"

#include <grpcpp/channel.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "common/obs/log.h"
#include "common/wire/grpc_settings.h"
#include "worker/service/coordinator_link.h"
#include "worker/service/worker_metrics.h"

namespace tangram {
namespace {

// How soon a worker that has no coordinator notices that it should stop, and
// how often it says that it has none.
constexpr std::chrono::milliseconds kPollInterval(200);
constexpr std::chrono::seconds kComplainInterval(10);

class Daemon : public Worker {
 public:
  Daemon(WorkerOptions options, Metrics& metrics)
      : options_(std::move(options)),
        metrics_(metrics),
        channel_(OpenChannel(options_.coordinator)),
        thread_([this] { Run(); }) {}

  ~Daemon() override { Drain(/*timeout_s=*/0); }

  void Drain(double timeout_s) override {
    std::shared_ptr<CoordinatorLink> link;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      link = link_;
      wake_.notify_all();
    }
    if (link != nullptr) link->Drain(timeout_s);
    const std::lock_guard lock(join_mutex_);
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    double backoff_s = options_.min_backoff_s;
    while (WaitForCoordinator()) {
      const std::shared_ptr<CoordinatorLink> link = OpenLink();
      if (link == nullptr) return;
      const auto began = std::chrono::steady_clock::now();
      const absl::Status status = link->Run();
      const std::chrono::duration<double> lasted =
          std::chrono::steady_clock::now() - began;
      // A stream that held for a while was a good one.
      if (lasted.count() > options_.max_backoff_s) {
        backoff_s = options_.min_backoff_s;
      }
      std::unique_lock lock(mutex_);
      link_ = nullptr;
      if (stopping_) return;
      Log(LogLevel::kWarning, "disconnected",
          {{"coordinator", options_.coordinator},
           {"reason", status.ToString()},
           {"retry_in_s", backoff_s}});
      wake_.wait_for(lock, std::chrono::duration<double>(backoff_s),
                     [this] { return stopping_; });
      backoff_s = std::min(2 * backoff_s, options_.max_backoff_s);
    }
  }

  // False when it is time to stop. The channel connects by itself, again and
  // again.
  bool WaitForCoordinator() {
    auto complain = std::chrono::steady_clock::now() + kPollInterval;
    while (!channel_->WaitForConnected(std::chrono::system_clock::now() +
                                       kPollInterval)) {
      const std::lock_guard lock(mutex_);
      if (stopping_) return false;
      if (std::chrono::steady_clock::now() < complain) continue;
      complain = std::chrono::steady_clock::now() + kComplainInterval;
      Log(LogLevel::kWarning, "coordinator cannot be reached",
          {{"coordinator", options_.coordinator}});
    }
    return true;
  }

  // Null when it is time to stop.
  std::shared_ptr<CoordinatorLink> OpenLink() {
    const std::lock_guard lock(mutex_);
    if (stopping_) return nullptr;
    link_ = CoordinatorLink::Create(channel_, options_, metrics_);
    return link_;
  }

  const WorkerOptions options_;
  WorkerMetrics metrics_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::shared_ptr<CoordinatorLink>
      link_;  // Shared with Drain, while it drains.
  bool stopping_ = false;
  std::mutex join_mutex_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Worker> Worker::Start(WorkerOptions options, Metrics& metrics) {
  return std::make_unique<Daemon>(std::move(options), metrics);
}

}  // namespace tangram
