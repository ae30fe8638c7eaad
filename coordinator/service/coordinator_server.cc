#include "coordinator/service/coordinator_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/wire/grpc_settings.h"
#include "coordinator/dispatch/bounded_executor.h"
#include "coordinator/service/planner_service.h"
#include "coordinator/service/service_metrics.h"
#include "coordinator/service/worker_pool_service.h"

namespace tangram {
namespace {

constexpr std::chrono::milliseconds kTickInterval(250);
// For the answers of ended plans to reach their callers.
constexpr std::chrono::seconds kShutdownGrace(1);
constexpr double kStopTimeoutS = 5;

double SteadySeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

WorkerPoolOptions PoolOptions(const CoordinatorOptions& options) {
  return {.queue = options.queue,
          .worker_wait_s = options.worker_wait_s,
          .ping_interval_s = options.ping_interval_s,
          .cache_bytes = options.cache_bytes,
          .now_s = SteadySeconds};
}

class Server : public CoordinatorServer {
 public:
  Server(const CoordinatorOptions& options, Metrics& metrics)
      : metrics_(metrics),
        pool_(PoolOptions(options), &metrics_),
        executor_(options.max_concurrent_plans, options.max_queued_plans),
        worker_service_(CreateWorkerPoolService(pool_)),
        planner_service_(CreatePlannerService(
            {.pool = pool_,
             .executor = executor_,
             .metrics = metrics_,
             .now_s = SteadySeconds,
             .is_draining = [this] { return draining_.load(); },
             .must_stop = [this] { return stopping_.load(); }})) {}

  ~Server() override {
    draining_ = true;
    stopping_ = true;
    executor_.WaitUntilIdle(kStopTimeoutS);
    if (server_ != nullptr) {
      server_->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
    }
    ticker_.request_stop();
  }

  absl::Status Listen(const std::string& address) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    ApplySettings(builder);
    // Two coordinators on one port would share it silently otherwise.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(worker_service_.get());
    builder.RegisterService(planner_service_.get());
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) {
      return absl::UnavailableError(absl::StrCat("cannot listen on ", address));
    }
    ticker_ = std::jthread([this](std::stop_token stop) { Tick(stop); });
    return absl::OkStatus();
  }

  int port() const override { return port_; }
  WorkerPool& pool() override { return pool_; }

  bool Drain(double timeout_s) override {
    draining_ = true;
    server_->GetHealthCheckService()->SetServingStatus(false);
    const bool finished = executor_.WaitUntilIdle(timeout_s);
    stopping_ = true;
    executor_.WaitUntilIdle(kStopTimeoutS);
    return finished;
  }

 private:
  void Tick(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      pool_.Tick();
      metrics_.SetPool(pool_.Counts());
      metrics_.SetPlans(executor_.num_running(), executor_.num_waiting());
      wake.wait_for(lock, stop, kTickInterval, [] { return false; });
    }
  }

  ServiceMetrics metrics_;
  WorkerPool pool_;
  std::atomic<bool> draining_ = false;
  std::atomic<bool> stopping_ = false;
  BoundedExecutor executor_;
  std::unique_ptr<grpc::Service> worker_service_;
  std::unique_ptr<grpc::Service> planner_service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  std::jthread ticker_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CoordinatorServer>> CoordinatorServer::Start(
    const CoordinatorOptions& options, Metrics& metrics) {
  auto server = std::make_unique<Server>(options, metrics);
  if (absl::Status status = server->Listen(options.listen); !status.ok()) {
    return status;
  }
  return server;
}

}  // namespace tangram
