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
#include "common/sync/mutex.h"
#include "common/wire/field_checks.h"
#include "common/wire/grpc_status.h"
#include "common/wire/parallelizer_wire.h"
#include "common/wire/worker_pool_wire.h"
#include "coordinator/auth/call_gate.h"
#include "coordinator/rpc/lease_outbox.h"
#include "coordinator/rpc/peer_host.h"
#include "tangram/v1/worker_pool_service.grpc.pb.h"

namespace tangram {
namespace {

// Far more than the adapters that exist. A worker that offers more is broken.
constexpr int kMaxAdapters = 1 << 8;

absl::StatusOr<AdapterInfo> DecodeAdapter(const v1::Adapter& message) {
  TANGRAM_ASSIGN_OR_RETURN(AdapterInfo adapter, FromProto(message));
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckPrintable("name", adapter.id.name),
                  CheckPrintable("version", adapter.id.version)}));
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

// Answers in one message for each slot of the worker. It holds at most 8 leases
// for each, and the answers to revoked ones may come along.
constexpr int kMaxAnswersPerSlot = 32;

// The stream of one worker. Lives until gRPC is done with it.
class WorkerSession
    : public grpc::ServerBidiReactor<v1::WorkerMessage, v1::CoordinatorMessage>,
      public WorkerConnection {
 public:
  // `caller`: the caller of the stream, or why it is not known.
  WorkerSession(grpc::CallbackServerContext& context, WorkerPool& pool,
                absl::StatusOr<Caller> caller)
      : context_(context), pool_(pool), caller_(std::move(caller)) {
    StartRead(&incoming_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Leave();
      Finish(grpc::Status::OK);
      return;
    }
    if (!worker_.has_value()) {
      if (const absl::Status status = Join(); !status.ok()) {
        Finish(ToGrpc(status));
        return;
      }
    }
    Handle();
    AnswerAtLeast();
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    const MutexLock lock(mutex_);
    is_writing_ = false;
    // If writing failed, reading fails soon and ends the stream.
    if (ok) Flush();
  }

  void OnDone() override { delete this; }

  void Lease(std::vector<LeasedQuery> leases) override {
    const MutexLock lock(mutex_);
    outbox_.Add(std::move(leases));
    Flush();
  }

  void Cancel(TaskId task) override {
    const MutexLock lock(mutex_);
    outbox_.Cancel(task);
    Flush();
  }

  // Ends the current read, and with it the stream.
  void Close() override { context_.TryCancel(); }

 private:
  absl::Status Join() {
    TANGRAM_RETURN_IF_ERROR(caller_.status());
    TANGRAM_ASSIGN_OR_RETURN(WorkerInfo info, DecodeHello(incoming_));
    info.identity = {.caller = PrincipalOf(*caller_, context_),
                     .host = PeerHost(context_.peer())};
    name_ = info.name;
    capacity_ = info.capacity;
    worker_ = pool_.Connect(info, *this);
    Log(LogLevel::kInfo, "worker joined",
        {{"worker", name_},
         {"peer", context_.peer()},
         {"source", ToString(info.identity)},
         {"version", incoming_.hello().version()},
         {"capacity", info.capacity}});
    return absl::OkStatus();
  }

  void Handle() {
    pool_.Heard(*worker_);
    if (incoming_.answers_size() + incoming_.handed_back_size() >
        kMaxAnswersPerSlot * capacity_) {
      Log(LogLevel::kWarning, "worker sent more answers than it can hold",
          {{"worker", name_}, {"answers", incoming_.answers_size()}});
      Close();
      return;
    }
    // A worker hands queries back only when it ends. One that did so and stayed
    // would be leased them again, without end.
    if (incoming_.draining() || incoming_.handed_back_size() > 0) {
      pool_.Drain(*worker_);
      Log(LogLevel::kInfo, "worker draining", {{"worker", name_}});
    }
    std::vector<WorkerAnswer> answers;
    answers.reserve(incoming_.answers_size());
    for (v1::Answer& answer : *incoming_.mutable_answers()) {
      answers.push_back(ReadAnswer(answer));
    }
    if (!answers.empty()) pool_.OnAnswers(*worker_, std::move(answers));
    for (const int64_t task : incoming_.handed_back()) {
      pool_.OnHandedBack(*worker_, task);
    }
  }

  // Answers every message, if only with an empty one, so that the worker knows
  // that the coordinator lives. Writes in this thread, which saves waking
  // another.
  void AnswerAtLeast() {
    const MutexLock lock(mutex_);
    if (std::exchange(has_answered_, false)) return;
    outbox_.AddNothing();
    Flush();
    has_answered_ = false;
  }

  void Leave() {
    if (!worker_.has_value()) return;
    pool_.Disconnect(*worker_);
    Log(LogLevel::kInfo, "worker left", {{"worker", name_}});
  }

  void Flush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (is_writing_ || outbox_.IsEmpty()) return;
    outgoing_.Clear();
    outbox_.MoveTo(outgoing_);
    is_writing_ = true;
    has_answered_ = true;
    StartWrite(&outgoing_);
  }

  grpc::CallbackServerContext& context_;
  WorkerPool& pool_;
  const absl::StatusOr<Caller> caller_;
  std::string name_;
  int capacity_ = 0;                // Slots.
  std::optional<WorkerId> worker_;  // Set by the first message.
  v1::WorkerMessage incoming_;

  // May be taken with the pool locked, so the pool must not be called with it
  // held.
  Mutex mutex_;
  LeaseOutbox outbox_ ABSL_GUARDED_BY(mutex_);
  v1::CoordinatorMessage outgoing_ ABSL_GUARDED_BY(mutex_);
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  // Whether something was written since the last message was read.
  bool has_answered_ ABSL_GUARDED_BY(mutex_) = false;
};

class WorkerPoolService : public v1::WorkerPool::CallbackService {
 public:
  WorkerPoolService(WorkerPool& pool, Authenticator& authenticator)
      : pool_(pool), authenticator_(authenticator) {}

  grpc::ServerBidiReactor<v1::WorkerMessage, v1::CoordinatorMessage>* Work(
      grpc::CallbackServerContext* context) override {
    return new WorkerSession(*context, pool_,
                             CallerOf(authenticator_, *context));
  }

 private:
  WorkerPool& pool_;
  Authenticator& authenticator_;
};

}  // namespace

std::unique_ptr<grpc::Service> CreateWorkerPoolService(
    WorkerPool& pool, Authenticator& authenticator) {
  return std::make_unique<WorkerPoolService>(pool, authenticator);
}

}  // namespace tangram
