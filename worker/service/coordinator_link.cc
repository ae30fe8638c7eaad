#include "worker/service/coordinator_link.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/obs/build_info.h"
#include "common/obs/log.h"
#include "common/wire/grpc_status.h"
#include "common/wire/parallelizer_wire.h"
#include "common/wire/worker_pool_wire.h"
#include "tangram/v1/worker_pool_service.grpc.pb.h"
#include "worker/service/query_runner.h"

namespace tangram {
namespace {

double SteadySeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

using SharedContext = std::shared_ptr<const PairContext>;

class StreamLink : public CoordinatorLink {
 public:
  StreamLink(const std::shared_ptr<grpc::Channel>& channel,
             const WorkerOptions& options, WorkerMetrics& metrics)
      : options_(options),
        metrics_(metrics),
        stub_(v1::WorkerPool::NewStub(channel)),
        last_heard_s_(SteadySeconds()),
        runner_(options.num_threads, SteadySeconds,
                [this](const LeasedJob& job, absl::StatusOr<Answer> answer,
                       double seconds) { Send(job, answer, seconds); }) {}

  absl::Status Run() override {
    SayHello();
    if (is_draining_) context_.TryCancel();
    std::jthread heartbeats([this](std::stop_token stop) { Beat(stop); });
    v1::CoordinatorMessage message;
    while (stream_->Read(&message)) {
      last_heard_s_ = SteadySeconds();
      if (!is_connected_.exchange(true)) OnConnected();
      Handle(message);
    }
    runner_.CancelAll();
    metrics_.SetConnected(false);
    metrics_.SetRunning(0);
    heartbeats.request_stop();
    heartbeats.join();
    const std::lock_guard lock(write_mutex_);
    is_open_ = false;
    return FromGrpc(stream_->Finish());
  }

  void Drain(double timeout_s) override {
    is_draining_ = true;
    if (!is_connected_) {
      context_.TryCancel();
      return;
    }
    v1::WorkerMessage message;
    message.set_draining(true);
    AddHandedBack(runner_.TakeWaiting(), message);
    Write(message);
    runner_.WaitUntilIdle(timeout_s);
    v1::WorkerMessage last;
    AddHandedBack(runner_.CancelAll(), last);
    Write(last);
    const std::lock_guard lock(write_mutex_);
    if (!is_open_) return;
    is_open_ = false;
    stream_->WritesDone();
  }

 private:
  void SayHello() {
    v1::WorkerMessage message;
    v1::Hello& hello = *message.mutable_hello();
    hello.set_name(options_.name);
    hello.set_version(Version());
    hello.set_capacity(options_.num_threads);
    for (const auto& parallelizer : options_.parallelizers) {
      *hello.add_adapters() = ToProto(
          AdapterInfo{.id = {parallelizer->name(), parallelizer->version()},
                      .features = parallelizer->features()});
    }
    const std::lock_guard lock(write_mutex_);
    stream_ = stub_->Work(&context_);
    is_open_ = stream_->Write(message);
  }

  void OnConnected() {
    metrics_.SetConnected(true);
    Log(LogLevel::kInfo, "connected", {{"coordinator", options_.coordinator}});
  }

  // Tells the coordinator that this worker lives, and ends the stream if the
  // coordinator seems not to.
  void Beat(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    const std::chrono::duration<double> interval(options_.heartbeat_s);
    while (!stop.stop_requested()) {
      wake.wait_for(lock, stop, interval, [] { return false; });
      if (stop.stop_requested()) return;
      metrics_.SetRunning(runner_.num_running());
      if (SteadySeconds() - last_heard_s_ > options_.silence_limit_s) {
        Log(LogLevel::kWarning, "coordinator is silent");
        context_.TryCancel();
        return;
      }
      Write(v1::WorkerMessage());
    }
  }

  void Handle(const v1::CoordinatorMessage& message) {
    for (const Fingerprint id : message.dropped_contexts()) contexts_.erase(id);
    for (const v1::PairContext& context : message.contexts()) {
      contexts_.insert_or_assign(context.id(), DecodeContext(context));
    }
    for (const v1::Lease& lease : message.leases()) Accept(lease);
    runner_.Cancel({message.cancelled().begin(), message.cancelled().end()});
    if (is_draining_ && message.leases_size() > 0) {
      v1::WorkerMessage reply;
      AddHandedBack(runner_.TakeWaiting(), reply);
      Write(reply);
    }
  }

  void Accept(const v1::Lease& lease) {
    absl::StatusOr<LeasedJob> job = Decode(lease);
    if (job.ok()) {
      runner_.Submit(*std::move(job));
    } else {
      Send(LeasedJob{.id = lease.id()}, job.status(), 0);
    }
  }

  static absl::StatusOr<SharedContext> DecodeContext(
      const v1::PairContext& message) {
    TANGRAM_ASSIGN_OR_RETURN(PairContext context, FromProto(message));
    return std::make_shared<const PairContext>(std::move(context));
  }

  absl::StatusOr<LeasedJob> Decode(const v1::Lease& lease) const {
    LeasedJob job{.id = lease.id()};
    for (const auto& parallelizer : options_.parallelizers) {
      if (parallelizer->name() == lease.adapter()) {
        job.parallelizer = parallelizer.get();
      }
    }
    if (job.parallelizer == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("adapter: \"", lease.adapter(), "\" is not offered by ",
                       options_.name));
    }
    TANGRAM_ASSIGN_OR_RETURN(job.query, DecodeQuery(lease));
    if (lease.context() == 0) {
      TANGRAM_RETURN_IF_ERROR(CheckIndices(PairContext(), job.query));
      return job;
    }
    const auto context = contexts_.find(lease.context());
    if (context == contexts_.end()) {
      return absl::InvalidArgumentError("context: unknown");
    }
    TANGRAM_ASSIGN_OR_RETURN(job.context, context->second);
    TANGRAM_RETURN_IF_ERROR(CheckIndices(*job.context, job.query));
    return job;
  }

  void Send(const LeasedJob& job, const absl::StatusOr<Answer>& answer,
            double seconds) {
    if (job.parallelizer != nullptr) {
      metrics_.OnAnswer(job.parallelizer->name(), job.query, answer.status(),
                        seconds);
    }
    v1::WorkerMessage message;
    v1::Answer& encoded = *message.add_answers();
    encoded.set_id(job.id);
    EncodeAnswer(answer, encoded);
    Write(message);
  }

  static void AddHandedBack(const std::vector<int64_t>& ids,
                            v1::WorkerMessage& message) {
    message.mutable_handed_back()->Assign(ids.begin(), ids.end());
  }

  // A write that fails ends the stream, which Run notices.
  void Write(const v1::WorkerMessage& message) {
    const std::lock_guard lock(write_mutex_);
    if (is_open_) is_open_ = stream_->Write(message);
  }

  const WorkerOptions& options_;
  WorkerMetrics& metrics_;
  std::unique_ptr<v1::WorkerPool::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::WorkerMessage, v1::CoordinatorMessage>>
      stream_;
  std::mutex write_mutex_;
  bool is_open_ = false;
  std::atomic<double> last_heard_s_;
  std::atomic<bool> is_connected_ = false;  // Heard of the coordinator.
  std::atomic<bool> is_draining_ = false;
  // Queries about a bad context are answered with what is wrong with it.
  std::map<Fingerprint, absl::StatusOr<SharedContext>> contexts_;
  QueryRunner runner_;  // Last, so that its threads end first.
};

}  // namespace

std::unique_ptr<CoordinatorLink> CoordinatorLink::Create(
    const std::shared_ptr<grpc::Channel>& channel, const WorkerOptions& options,
    WorkerMetrics& metrics) {
  return std::make_unique<StreamLink>(channel, options, metrics);
}

}  // namespace tangram
