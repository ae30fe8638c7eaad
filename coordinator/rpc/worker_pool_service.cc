#include "coordinator/rpc/worker_pool_service.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/obs/log.h"
#include "common/obs/sparse_warning.h"
#include "common/security/peer_host.h"
#include "common/sync/mutex.h"
#include "common/wire/field_checks.h"
#include "common/wire/grpc_status.h"
#include "common/wire/parallelizer_wire.h"
#include "common/wire/unfolded_size.h"
#include "common/wire/worker_pool_wire.h"
#include "coordinator/auth/call_gate.h"
#include "coordinator/rpc/lease_outbox.h"
#include "coordinator/rpc/leases_of_stream.h"
#include "coordinator/rpc/received_message.h"
#include "tangram/v1/worker_pool_service.grpc.pb.h"

namespace tangram {
namespace {

// Several times the adapters that exist. A worker that offers more is broken.
constexpr int kMaxAdapters = 1 << 5;
// Names and versions of adapters are listed for every worker.
constexpr int kMaxAdapterTextBytes = 1 << 7;

absl::StatusOr<AdapterInfo> DecodeAdapter(const v1::Adapter& message) {
  TANGRAM_ASSIGN_OR_RETURN(AdapterInfo adapter, tangram::FromProto(message));
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckLength("name", adapter.id.name, kMaxAdapterTextBytes),
       CheckLength("version", adapter.id.version, kMaxAdapterTextBytes)}));
  return adapter;
}

absl::StatusOr<WorkerInfo> DecodeHello(const v1::WorkerMessage& message) {
  TANGRAM_RETURN_IF_ERROR(CheckPresent("hello", message.has_hello()));
  const v1::Hello& hello = message.hello();
  TANGRAM_RETURN_IF_ERROR(InField(
      "hello",
      FirstError(
          {CheckWorkerName("name", hello.name()),
           CheckPositive("capacity", hello.capacity(), kMaxWorkerThreads),
           CheckPositive("adapters", hello.adapters_size(), kMaxAdapters)})));
  if (!hello.version().empty()) {
    TANGRAM_RETURN_IF_ERROR(InField(
        "hello", FirstError({CheckName("version", hello.version()),
                             CheckPrintable("version", hello.version())})));
  }
  WorkerInfo info{.name = hello.name(),
                  .version = hello.version(),
                  .capacity = hello.capacity()};
  for (int i = 0; i < hello.adapters_size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(
        AdapterInfo adapter,
        InField("hello.adapters", i, DecodeAdapter(hello.adapters(i))));
    info.adapters.push_back(std::move(adapter));
  }
  return info;
}

// Decodes an answer. An answer is rejected if its digest is wrong or it cannot
// be decoded. The pool judges the errors that workers report.
WorkerAnswer ReadAnswer(v1::Answer& message) {
  WorkerAnswer answer{.task = message.id(),
                      .answer = DecodeAnswer(message),
                      .waited_s = message.waited_s(),
                      .search_s = message.search_s()};
  if (absl::Status status = CheckSeal(message); !status.ok()) {
    answer.answer = std::move(status);
    answer.rejection = RejectionReason::kDigest;
  } else if (!answer.answer.ok() && !IsError(message)) {
    answer.rejection = RejectionReason::kMessage;
  }
  return answer;
}

// Answers in one message for each slot of the worker: the leases that it may
// hold, and the answers to revoked ones may come along.
constexpr int kMaxAnswersPerSlot = 4 * (1 + WorkQueue::kMostPrefetch);

// Revoked leases whose answers may still come, more than a worker holds.
constexpr size_t kMaxRevokedLeases = 1 << 14;

// Answers to leases that the worker does not hold. Nothing but a fault brings
// one, so a stream with several is worth nothing.
constexpr int kMaxStrayAnswers = 8;

// Limit on the memory of a message when it is parsed. The largest answers take
// a few MB, and a message has those that came while the one before was sent.
constexpr int64_t kMaxUnfoldedBytes = int64_t{128} << 20;
// Messages up to this size are within it, and within the limit on unknown
// fields, whatever they hold. Nearly all are.
constexpr int64_t kSmallMessageBytes = kMaxUnknownBytes;
static_assert(kSmallMessageBytes <=
              kMaxUnfoldedBytes / kMostUnfoldedBytesPerByte);
// Messages that take more memory wait for one another.
constexpr int64_t kLargeUnfoldedBytes =
    kSmallMessageBytes * kMostUnfoldedBytesPerByte;

// The parts that all streams share.
struct Pool {
  WorkerPool& workers;
  WorkerAdmission& admission;
  // Lines of the log, by source: workers may come and go as they like.
  SparseKinds joined, left, drained, faults;
  // Held while a large message is parsed and read, so that only one is unfolded
  // at a time. Guards no field.
  Mutex large_messages;
};

// The stream of one worker. Lives until gRPC is done with it.
class WorkerSession
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
      public WorkerConnection {
 public:
  // `caller`: the caller of the stream, or why it is not known.
  WorkerSession(grpc::CallbackServerContext& context, Pool& pool,
                const absl::StatusOr<Caller>& caller)
      : context_(context), pool_(pool) {
    if (const absl::Status status = Begin(caller); !status.ok()) {
      // The admission's word for a source that comes and goes.
      if (absl::IsUnavailable(status)) {
        pool_.workers.OnChurn(identity_, status);
      }
      Refuse(status);
      return;
    }
    StartRead(&incoming_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Leave();
      End(grpc::Status::OK);
      return;
    }
    {
      const MutexLock lock(mutex_);
      has_answered_ = false;
    }
    if (const absl::Status status = Receive(); !status.ok()) {
      if (worker_.has_value()) {
        pool_.workers.OnProtocolFault(*worker_, status);
      }
      Leave();
      Refuse(status);
      return;
    }
    Answer();
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    const MutexLock lock(mutex_);
    is_writing_ = false;
    outgoing_.Clear();
    // If writing failed, reading fails soon and ends the stream.
    if (ok) Flush();
  }

  void OnDone() override { delete this; }

  void Lease(std::vector<LeasedQuery> leases) override {
    const MutexLock lock(mutex_);
    for (const LeasedQuery& lease : leases) leases_.Add(lease.task);
    outbox_.Add(std::move(leases));
    Flush();
  }

  void Cancel(TaskId task) override {
    const MutexLock lock(mutex_);
    leases_.Revoke(task);
    outbox_.Cancel(task);
    Flush();
  }

  void AllowSilence(double silence_s) override {
    const MutexLock lock(mutex_);
    outbox_.AllowSilence(silence_s);
    Flush();
  }

  // Ends the current read, and with it the stream.
  void Close() override { context_.TryCancel(); }

 private:
  absl::Status Begin(const absl::StatusOr<Caller>& caller) {
    TANGRAM_RETURN_IF_ERROR(caller.status());
    identity_ = {.caller = PrincipalOf(*caller, context_),
                 .host = PeerHost(context_.peer())};
    source_ = ToString(identity_);
    TANGRAM_ASSIGN_OR_RETURN(place_, pool_.admission.Begin(identity_, [this] {
      LogSparsely(pool_.faults, LogLevel::kWarning, "worker refused",
                  "no hello in time");
      Close();
    }));
    return absl::OkStatus();
  }

  // Takes a message. The bytes and what they unfold to are gone afterwards.
  absl::Status Receive() {
    const grpc::ByteBuffer bytes = std::exchange(incoming_, {});
    if (static_cast<int64_t>(bytes.Length()) <= kSmallMessageBytes) {
      return Take(bytes);
    }
    if (!worker_.has_value()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("hello: ", bytes.Length(), " bytes; expected at most ",
                       kSmallMessageBytes));
    }
    TANGRAM_ASSIGN_OR_RETURN(
        const int64_t unfolded,
        MeasureMessage(bytes, *v1::WorkerMessage::descriptor(),
                       kMaxUnfoldedBytes));
    if (unfolded <= kLargeUnfoldedBytes) return Take(bytes);
    if (unfolded <= kMaxUnfoldedBytes) {
      const MutexLock lock(pool_.large_messages);
      return Take(bytes);
    }
    return absl::ResourceExhaustedError(absl::StrCat(
        "message: ", bytes.Length(), " bytes that take more than ",
        kMaxUnfoldedBytes >> 20, " MiB in memory; expected at most that"));
  }

  absl::Status Take(const grpc::ByteBuffer& bytes) {
    v1::WorkerMessage message;
    TANGRAM_RETURN_IF_ERROR(ParseMessage(bytes, message));
    if (!worker_.has_value()) TANGRAM_RETURN_IF_ERROR(Join(message));
    return Handle(message);
  }

  absl::Status Join(const v1::WorkerMessage& message) {
    TANGRAM_ASSIGN_OR_RETURN(WorkerInfo info, DecodeHello(message));
    TANGRAM_RETURN_IF_ERROR(place_->Greet(info.adapters));
    info.identity = identity_;
    name_ = info.name;
    version_ = info.version;
    capacity_ = info.capacity;
    worker_ = pool_.workers.Connect(info, *this);
    LogSparsely(pool_.joined, LogLevel::kInfo, "worker joined");
    return absl::OkStatus();
  }

  absl::Status Handle(v1::WorkerMessage& message) {
    pool_.workers.Heard(*worker_);
    const int count = message.answers_size() + message.handed_back_size();
    if (count > kMaxAnswersPerSlot * capacity_) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "answers: ", count, " in one message; expected at most ",
          kMaxAnswersPerSlot, " for each of ", capacity_, " slots"));
    }
    // A worker hands queries back only when it ends. One that did so and stayed
    // would be leased them again, without end.
    if (message.draining() || message.handed_back_size() > 0) {
      pool_.workers.Drain(*worker_);
      LogSparsely(pool_.drained, LogLevel::kInfo, "worker draining");
    }
    TANGRAM_RETURN_IF_ERROR(TakeAnswers(message));
    for (const int64_t task : message.handed_back()) {
      EndLease(task);
      pool_.workers.OnHandedBack(*worker_, task);
    }
    return absl::OkStatus();
  }

  // Decodes only answers to leases of this stream, and damaged ones, whose
  // lease is not known.
  absl::Status TakeAnswers(v1::WorkerMessage& message) {
    std::vector<WorkerAnswer> answers;
    for (v1::Answer& answer : *message.mutable_answers()) {
      if (EndLease(answer.id()) || !CheckSeal(answer).ok()) {
        answers.push_back(ReadAnswer(answer));
      } else if (++num_stray_answers_ >= kMaxStrayAnswers) {
        return absl::FailedPreconditionError(absl::StrCat(
            "answers.id: ", answer.id(), "; expected a lease of this stream (",
            num_stray_answers_, " answers had none)"));
      }
    }
    if (!answers.empty()) {
      pool_.workers.OnAnswers(*worker_, std::move(answers));
    }
    return absl::OkStatus();
  }

  bool EndLease(TaskId task) {
    const MutexLock lock(mutex_);
    return leases_.End(task);
  }

  // Answers every message, if only with an empty one, so that the worker knows
  // that the coordinator lives. Writes in this thread, which saves waking
  // another.
  void Answer() {
    pool_.workers.AllowSilence(*worker_);
    const MutexLock lock(mutex_);
    if (has_answered_) return;
    outbox_.AddNothing();
    Flush();
  }

  void Leave() {
    if (!worker_.has_value()) return;
    pool_.workers.Disconnect(*worker_);
    LogSparsely(pool_.left, LogLevel::kInfo, "worker left");
  }

  // Ends the stream because of `status`.
  void Refuse(const absl::Status& status) {
    LogSparsely(pool_.faults, LogLevel::kWarning, "worker refused",
                status.ToString());
    End(ToGrpc(status));
  }

  void End(const grpc::Status& status) {
    {
      const MutexLock lock(mutex_);
      has_ended_ = true;
    }
    Finish(status);  // May delete this.
  }

  // Logs the first event of a source in a minute, and at debug level all.
  void LogSparsely(SparseKinds& kind, LogLevel level, absl::string_view what,
                   absl::string_view reason = "none") {
    const std::optional<int64_t> times = kind.Note(source_);
    if (!times.has_value() && !IsLogged(LogLevel::kDebug)) return;
    Log(times.has_value() ? level : LogLevel::kDebug, what,
        {{"worker", name_},
         {"peer", context_.peer()},
         {"source", source_},
         {"version", version_},
         {"capacity", capacity_},
         {"reason", reason},
         {"times", times.value_or(1)}});
  }

  void Flush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (has_ended_ || is_writing_ || outbox_.IsEmpty()) return;
    v1::CoordinatorMessage message;
    outbox_.MoveTo(message);
    outgoing_ = SerializeMessage(message);
    is_writing_ = true;
    has_answered_ = true;
    StartWrite(&outgoing_);
  }

  grpc::CallbackServerContext& context_;
  Pool& pool_;
  WorkerIdentity identity_;
  std::string source_;  // The identity as text.
  std::unique_ptr<WorkerAdmission::Place> place_;
  std::string name_;
  std::string version_;
  int capacity_ = 0;                // Slots.
  std::optional<WorkerId> worker_;  // Set by the first message.
  grpc::ByteBuffer incoming_;
  int num_stray_answers_ = 0;

  // May be taken with the pool locked, so the pool must not be called with it
  // held.
  Mutex mutex_;
  LeaseOutbox outbox_ ABSL_GUARDED_BY(mutex_);
  LeasesOfStream leases_ ABSL_GUARDED_BY(mutex_){kMaxRevokedLeases};
  grpc::ByteBuffer outgoing_ ABSL_GUARDED_BY(mutex_);
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  // Whether something was written since the message at hand was read.
  bool has_answered_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
};

// Takes messages as bytes, which are measured before they are parsed.
class WorkerPoolService : public v1::WorkerPool::WithRawCallbackMethod_Work<
                              v1::WorkerPool::Service> {
 public:
  WorkerPoolService(WorkerPool& pool, WorkerAdmission& admission,
                    Authenticator& authenticator)
      : pool_{.workers = pool, .admission = admission},
        authenticator_(authenticator) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Work(
      grpc::CallbackServerContext* context) override {
    return new WorkerSession(*context, pool_,
                             CallerOf(authenticator_, *context));
  }

 private:
  Pool pool_;
  Authenticator& authenticator_;
};

}  // namespace

std::unique_ptr<grpc::Service> CreateWorkerPoolService(
    WorkerPool& pool, WorkerAdmission& admission,
    Authenticator& authenticator) {
  return std::make_unique<WorkerPoolService>(pool, admission, authenticator);
}

}  // namespace tangram
