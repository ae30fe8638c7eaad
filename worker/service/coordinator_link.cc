#include "worker/service/coordinator_link.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/obs/build_info.h"
#include "common/obs/clocks.h"
#include "common/obs/log.h"
#include "common/obs/sparse_warning.h"
#include "common/sync/mutex.h"
#include "common/wire/grpc_status.h"
#include "common/wire/parallelizer_wire.h"
#include "common/wire/worker_pool_wire.h"
#include "tangram/v1/worker_pool_service.grpc.pb.h"
#include "worker/service/query_runner.h"
#include "worker/service/stream_times.h"

namespace tangram {
namespace {

using SharedContext = std::shared_ptr<const PairContext>;

class StreamLink : public CoordinatorLink {
 public:
  StreamLink(const std::string& address,
             const std::shared_ptr<grpc::Channel>& channel,
             const WorkerOptions& options, Slots& slots, WorkerMetrics& metrics)
      : address_(address),
        options_(options),
        slots_(slots),
        metrics_(metrics),
        stub_(v1::WorkerPool::NewStub(channel)),
        times_({.heartbeat_s = options.heartbeat_s,
                .silence_limit_s = options.silence_limit_s},
               SteadySeconds()),
        runner_(
            options.num_threads, slots, SteadySeconds,
            [this](const LeasedJob& job, const absl::StatusOr<Answer>& answer,
                   JobTimes times) { Send(job, answer, times); }) {}

  absl::Status Run() override {
    SayHello();
    if (is_draining_) context_.TryCancel();
    std::jthread writer(
        [this](const std::stop_token& stop) { KeepWriting(stop); });
    v1::CoordinatorMessage message;
    while (stream_->Read(&message)) {
      if (!is_connected_.exchange(true)) OnConnected();
      NoteRead(message);
      Handle(message);
    }
    runner_.CancelAll();
    if (is_connected_) metrics_.AddConnected(-1);
    metrics_.SetRunning(slots_.num_taken());
    writer.request_stop();
    writer.join();
    absl::Status status = FromGrpc(stream_->Finish());
    const MutexLock lock(write_mutex_);
    is_open_ = false;
    has_ended_ = true;
    ended_.NotifyAll();
    return status;
  }

  void Drain(double timeout_s) override {
    is_draining_ = true;
    if (!is_connected_) {
      context_.TryCancel();
      return;
    }
    const std::vector<int64_t> waiting = runner_.TakeWaiting();
    Write([&](v1::WorkerMessage& message) {
      message.set_draining(true);
      AddHandedBack(waiting, message);
    });
    runner_.WaitUntilIdle(timeout_s);
    const std::vector<int64_t> rest = runner_.CancelAll();
    Write([&](v1::WorkerMessage& message)
              ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
                AddHandedBack(rest, message);
                is_last_ = true;
              });
    AwaitEnd();
  }

 private:
  // Waits until the coordinator ends the stream, as it does after the last
  // message. Cancels the stream if it does not within goodbye_s.
  void AwaitEnd() {
    const MutexLock lock(write_mutex_);
    if (ended_.WaitFor(write_mutex_,
                       std::chrono::duration<double>(options_.goodbye_s),
                       [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
                         return has_ended_;
                       })) {
      return;
    }
    Log(LogLevel::kWarning, "coordinator does not end the stream",
        {{"coordinator", address_}});
    context_.TryCancel();
  }

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
    const MutexLock lock(write_mutex_);
    times_.OnWrite(SteadySeconds());
    stream_ = stub_->Work(&context_);
    is_open_ = stream_->Write(message);
  }

  void OnConnected() {
    metrics_.AddConnected(1);
    Log(LogLevel::kInfo, "connected", {{"coordinator", address_}});
  }

  // A silence that is out of range is not trusted: more messages do no harm.
  void NoteRead(const v1::CoordinatorMessage& message) {
    const absl::StatusOr<double> allowed_s = DecodeSilence(message);
    if (!allowed_s.ok()) warning_.Tell(allowed_s.status().ToString());
    const MutexLock lock(write_mutex_);
    if (times_.OnRead(allowed_s.value_or(0))) {
      is_sooner_ = true;
      wake_.NotifyOne();
    }
  }

  // Writes the gathered messages as one, and an empty message when the worker
  // has been silent for as long as it may, which tells the coordinator that it
  // lives. Cancels the stream if the coordinator answers nothing.
  void KeepWriting(const std::stop_token& stop) {
    const MutexLock lock(write_mutex_);
    while (is_open_) {
      const std::chrono::duration<double> wait(
          std::min(times_.WriteAtS(), times_.LostAtS()) - SteadySeconds());
      wake_.WaitFor(write_mutex_, stop, wait,
                    [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
                      return has_news_ || is_sooner_;
                    });
      if (stop.stop_requested()) return;
      metrics_.SetRunning(slots_.num_taken());
      const double now_s = SteadySeconds();
      if (now_s > times_.LostAtS()) {
        Log(LogLevel::kWarning, "coordinator is silent",
            {{"coordinator", address_}});
        context_.TryCancel();
        return;
      }
      is_sooner_ = false;
      if (!has_news_ && now_s < times_.WriteAtS()) continue;
      times_.OnWrite(now_s);
      const v1::WorkerMessage message = std::exchange(outgoing_, {});
      has_news_ = false;
      const bool is_last = is_last_;
      bool written = false;
      {
        const MutexUnlock unlock(write_mutex_);
        // A failed write ends the stream, and Run notices that.
        written = stream_->Write(message);
        if (written && is_last) stream_->WritesDone();
      }
      is_open_ = written && !is_last;
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
      const std::vector<int64_t> waiting = runner_.TakeWaiting();
      Write([&](v1::WorkerMessage& reply) { AddHandedBack(waiting, reply); });
    }
  }

  void Accept(const v1::Lease& lease) {
    absl::StatusOr<LeasedJob> job = Decode(lease);
    if (job.ok()) {
      runner_.Submit(*std::move(job));
    } else {
      Send(LeasedJob{.id = lease.id()}, job.status(), {});
    }
  }

  static absl::StatusOr<SharedContext> DecodeContext(
      const v1::PairContext& message) {
    TANGRAM_ASSIGN_OR_RETURN(PairContext context, FromProto(message));
    return std::make_shared<const PairContext>(std::move(context));
  }

  // Resolves the adapter and the context of a lease. kInternal if either is
  // unknown, which says nothing about the question: another worker is asked.
  // kInvalidArgument if the question is malformed.
  absl::StatusOr<LeasedJob> Decode(const v1::Lease& lease) const {
    LeasedJob job{.id = lease.id()};
    for (const auto& parallelizer : options_.parallelizers) {
      if (parallelizer->name() == lease.adapter()) {
        job.parallelizer = parallelizer.get();
      }
    }
    if (job.parallelizer == nullptr) {
      return absl::InternalError(absl::StrCat("adapter: \"", lease.adapter(),
                                              "\" is not offered by ",
                                              options_.name));
    }
    TANGRAM_ASSIGN_OR_RETURN(job.query, DecodeQuery(lease));
    if (lease.context() == 0) {
      TANGRAM_RETURN_IF_ERROR(CheckIndices(PairContext(), job.query));
      return job;
    }
    const auto context = contexts_.find(lease.context());
    if (context == contexts_.end()) {
      return absl::InternalError(
          absl::StrCat("context: ", lease.context(), "; expected a known one"));
    }
    TANGRAM_ASSIGN_OR_RETURN(job.context, context->second);
    TANGRAM_RETURN_IF_ERROR(CheckIndices(*job.context, job.query));
    return job;
  }

  void Send(const LeasedJob& job, const absl::StatusOr<Answer>& answer,
            const JobTimes& times) {
    if (job.parallelizer != nullptr) {
      metrics_.OnAnswer(job.parallelizer->name(), job.query, answer.status(),
                        times.search_s);
    }
    LogAnswer(job, answer.status(), times);
    v1::Answer encoded;
    encoded.set_id(job.id);
    encoded.set_waited_s(times.waited_s);
    encoded.set_search_s(times.search_s);
    EncodeAnswer(answer, encoded);
    SealAnswer(encoded);
    Write([&](v1::WorkerMessage& message) {
      *message.add_answers() = std::move(encoded);
    });
  }

  static void LogAnswer(const LeasedJob& job, const absl::Status& status,
                        const JobTimes& times) {
    if (!IsLogged(LogLevel::kDebug)) return;
    Log(LogLevel::kDebug, "query answered",
        {{"query", job.id},
         {"adapter", job.parallelizer == nullptr ? std::string()
                                                 : job.parallelizer->name()},
         {"code", absl::StatusCodeToString(status.code())},
         {"waited_s", times.waited_s},
         {"search_s", times.search_s}});
  }

  static void AddHandedBack(const std::vector<int64_t>& ids,
                            v1::WorkerMessage& message) {
    message.mutable_handed_back()->Add(ids.begin(), ids.end());
  }

  // Calls `add` with the next message and wakes the writer.
  template <typename Add>
  void Write(const Add& add) {
    const MutexLock lock(write_mutex_);
    if (!is_open_) return;
    add(outgoing_);
    has_news_ = true;
    wake_.NotifyOne();
  }

  const std::string address_;
  const WorkerOptions& options_;
  SparseWarning warning_{"silence not understood"};
  Slots& slots_;
  WorkerMetrics& metrics_;
  std::unique_ptr<v1::WorkerPool::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::WorkerMessage, v1::CoordinatorMessage>>
      stream_;
  Mutex write_mutex_;
  StoppableConditionVariable wake_;
  ConditionVariable ended_;
  bool is_open_ ABSL_GUARDED_BY(write_mutex_) = false;
  bool has_ended_ ABSL_GUARDED_BY(write_mutex_) = false;
  // The next message.
  v1::WorkerMessage outgoing_ ABSL_GUARDED_BY(write_mutex_);
  bool has_news_ ABSL_GUARDED_BY(write_mutex_) =
      false;  // outgoing_ has content.
  StreamTimes times_ ABSL_GUARDED_BY(write_mutex_);
  // The writer waits for too long.
  bool is_sooner_ ABSL_GUARDED_BY(write_mutex_) = false;
  // outgoing_ ends the stream.
  bool is_last_ ABSL_GUARDED_BY(write_mutex_) = false;
  std::atomic<bool> is_connected_ =
      false;  // A message has come from the coordinator.
  std::atomic<bool> is_draining_ = false;
  // A bad context is kept as its error, which answers the queries about it.
  std::map<Fingerprint, absl::StatusOr<SharedContext>> contexts_;
  QueryRunner runner_;  // Last member, so that its threads end first.
};

}  // namespace

std::unique_ptr<CoordinatorLink> CoordinatorLink::Create(
    const std::string& address, const std::shared_ptr<grpc::Channel>& channel,
    const WorkerOptions& options, Slots& slots, WorkerMetrics& metrics) {
  return std::make_unique<StreamLink>(address, channel, options, slots,
                                      metrics);
}

}  // namespace tangram
