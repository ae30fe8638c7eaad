#include "coordinator/rpc/planner_service.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/obs/sparse_warning.h"
#include "common/sync/mutex.h"
#include "common/wire/grpc_status.h"
#include "coordinator/planning/plan_request_wire.h"
#include "coordinator/planning/recorded_plan.h"
#include "coordinator/rpc/known_answer_handler.h"
#include "coordinator/rpc/planning_call.h"
#include "coordinator/rpc/received_message.h"
#include "tangram/v1/planner_service.grpc.pb.h"

namespace tangram {
namespace {

// The number of the method in the service.
constexpr int kPlan = 0;

absl::StatusOr<PlanOrder> Decode(const grpc::ByteBuffer& request) {
  v1::PlanRequest message;
  TANGRAM_RETURN_IF_ERROR(ParseMessage(request, message));
  return tangram::FromProto(message);
}

// Returns the name of the answer that the request asks for. Empty: it is no
// such request.
std::optional<Digest> PlanIdIn(const grpc::ByteBuffer& request) {
  Digest name;
  // A field of 32 bytes, with a byte for each of its number and its length.
  if (request.Length() != name.bytes.size() + 2) return std::nullopt;
  v1::PlanRequest message;
  if (!ParseMessage(request, message).ok() ||
      message.plan_id().size() != name.bytes.size()) {
    return std::nullopt;
  }
  absl::c_copy(message.plan_id(), name.bytes.begin());
  return name;
}

// A call that plans. The planner runs on the executor. The executor's thread
// and gRPC's threads write to the stream. The object lives until gRPC is done
// with it, which is after Finish, so nothing may touch it after that.
class PlanCall : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  PlanCall(const PlannerServiceParts& parts,
           grpc::CallbackServerContext& context, SparseKinds& refusals)
      : parts_(parts), context_(context), refusals_(refusals) {}

  void Start(const grpc::ByteBuffer& request) {
    if (parts_.is_draining()) {
      return Refuse(absl::UnavailableError("the coordinator is shutting down"),
                    "draining");
    }
    era_ = parts_.cache.era();
    // Before the request is read, which may take many times its bytes.
    if (const absl::Status status = caller_.Admit(parts_, context_);
        !status.ok()) {
      return Refuse(status, "calls");
    }
    if (const absl::Status status = Take(request); !status.ok()) {
      return Refuse(status,
                    absl::IsResourceExhausted(status) ? "memory" : "request");
    }
    caller_.scope.adapters = parts_.pool.OfferedAdapters();
    // Locked, so that the job cannot end the call before job_ is set.
    mutex_.lock();
    job_ = parts_.executor.Submit(caller_.tenant, [this] { Run(); });
    if (job_.has_value()) {
      v1::PlanUpdate queued;
      queued.mutable_progress()->set_num_workers(parts_.pool.NumWorkers());
      progress_ = SerializeMessage(queued);
      return WriteNextAndUnlock();  // The first update: queued.
    }
    mutex_.unlock();
    Refuse(parts_.quota.Busy(caller_.tenant,
                             "too many plans at once; ask again later"),
           "queue");
  }

  void OnWriteDone(bool) override {
    mutex_.lock();
    is_writing_ = false;
    WriteNextAndUnlock();
  }

  void OnCancel() override {
    is_cancelled_ = true;
    mutex_.lock();
    if (!job_.has_value() || !parts_.executor.Remove(*job_)) {
      return mutex_.unlock();  // The running job ends the call.
    }
    outcome_ = absl::CancelledError("cancelled");
    WriteNextAndUnlock();
  }

  void OnDone() override { delete this; }

 private:
  // `reason`: for the metric.
  void Refuse(const absl::Status& status, const char* reason) {
    parts_.metrics.OnPlan(status, {}, {}, 0);
    NoteRefusal(parts_, refusals_, caller_.tenant, "plan", status, reason);
    Finish(ToGrpc(status));
  }

  // Decodes the request within the budget. The message is gone afterwards, and
  // the request in the planner's form remains.
  absl::Status Take(const grpc::ByteBuffer& request) {
    TANGRAM_ASSIGN_OR_RETURN(
        memory_, TakeMemory(parts_, request, *v1::PlanRequest::descriptor(),
                            caller_.tenant));
    TANGRAM_ASSIGN_OR_RETURN(order_, Decode(request));
    order_skips_cache_ = order_.skip_cache;
    request_ = request;
    // Texts for people take at most as much as the bytes.
    return memory_.Resize(2 * static_cast<int64_t>(request.Length()) +
                          BytesOf(order_));
  }

  bool ShouldStop() const {
    return is_cancelled_ || IsOverLimit() || parts_.must_stop();
  }
  bool IsOverLimit() const {
    return parts_.max_plan_s > 0 &&
           parts_.now_s() - began_s_ > parts_.max_plan_s;
  }

  void Run() {
    began_s_ = parts_.now_s();
    const absl::StatusOr<PlanFile> file = RunRecordedPlan(
        PlanningPartsOf(parts_), std::move(order_),
        {.name = caller_.name,
         .report = [this](const PlanningProgress& now) { Report(now); },
         .should_stop = [this] { return ShouldStop(); },
         .why_stopped = [this] { return WhyCancelled(); },
         .share = {.key = caller_.tenant}});
    std::optional<grpc::ByteBuffer> result;
    if (file.ok()) {
      v1::PlanUpdate update;
      *update.mutable_result() = tangram::ToProto(*file);
      result = SerializeMessage(update);
      Keep(*file, *result);
    }
    mutex_.lock();
    outcome_ = file.status();
    result_ = std::move(result);
    WriteNextAndUnlock();
  }

  void Keep(const PlanFile& file, const grpc::ByteBuffer& result) {
    // Keeps the answer only if the adapters have not changed since planning
    // began.
    if (!file.result.stats.truncated && !order_skips_cache_ &&
        caller_.scope.adapters == parts_.pool.OfferedAdapters()) {
      parts_.cache.Insert(caller_.scope, request_, result, era_);
    }
  }

  absl::Status WhyCancelled() const {
    if (!is_cancelled_ && IsOverLimit()) {
      return absl::DeadlineExceededError(absl::StrCat(
          "no plan within ", parts_.max_plan_s,
          " s (--max_plan_s); ask for a coarser one, or submit a job"));
    }
    return WhyEnded(is_cancelled_, context_, "no plan before the deadline");
  }

  void Report(const PlanningProgress& progress) {
    v1::PlanUpdate update;
    *update.mutable_progress() =
        tangram::ToProto(progress, parts_.pool.NumWorkers());
    mutex_.lock();
    progress_ = SerializeMessage(update);
    WriteNextAndUnlock();
  }

  // Writes the result or the latest progress if the stream is free. Ends the
  // call without the lock, because that may delete this. Nothing else touches
  // result_ by then.
  void WriteNextAndUnlock() ABSL_UNLOCK_FUNCTION(mutex_) {
    if (is_writing_ || (!outcome_.has_value() && !progress_.has_value())) {
      return mutex_.unlock();
    }
    is_writing_ = true;
    if (!outcome_.has_value()) {
      written_ = *std::exchange(progress_, std::nullopt);
      StartWrite(&written_);
      return mutex_.unlock();
    }
    const grpc::Status status = ToGrpc(*outcome_);
    grpc::ByteBuffer* const result = result_.has_value() ? &*result_ : nullptr;
    mutex_.unlock();
    if (result != nullptr) {
      StartWriteAndFinish(result, grpc::WriteOptions(), status);
    } else {
      Finish(status);
    }
  }

  const PlannerServiceParts& parts_;
  grpc::CallbackServerContext& context_;
  SparseKinds& refusals_;  // Log of refusals, by status code.
  PlanOrder order_;
  grpc::ByteBuffer request_;
  bool order_skips_cache_ = false;
  double began_s_ = 0;
  int64_t era_ = 0;  // The state of the cache when the call began.
  PlanningCaller caller_;
  MemoryBudget::Share memory_;  // Memory of request_ and order_.
  std::atomic<bool> is_cancelled_ = false;

  Mutex mutex_;
  std::optional<FairExecutor::JobId> job_ ABSL_GUARDED_BY(mutex_);
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  // Must live while it is written.
  grpc::ByteBuffer written_ ABSL_GUARDED_BY(mutex_);
  // Latest progress, not written yet.
  std::optional<grpc::ByteBuffer> progress_ ABSL_GUARDED_BY(mutex_);
  // Set once the job has ended.
  std::optional<absl::Status> outcome_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::ByteBuffer> result_ ABSL_GUARDED_BY(mutex_);
};

// Takes requests as bytes, because a known one need not be decoded.
class PlannerService : public v1::Planner::Service {
 public:
  explicit PlannerService(const PlannerServiceParts& parts) : parts_(parts) {
    MarkMethodRawCallback(
        kPlan, new KnownAnswerHandler(
                   [this](const grpc::CallbackServerContext& context,
                          const grpc::ByteBuffer& request) {
                     return FindKnown(context, request);
                   },
                   [this](grpc::CallbackServerContext* context,
                          const grpc::ByteBuffer* request) {
                     auto* call = new PlanCall(parts_, *context, refusals_);
                     call->Start(*request);
                     return call;
                   }));
  }

 private:
  std::optional<grpc::ByteBuffer> FindKnown(
      const grpc::CallbackServerContext& context,
      const grpc::ByteBuffer& request) {
    const absl::StatusOr<PlanScope> scope = ScopeOf(parts_, context);
    // Not known: the planning call then refuses the caller.
    if (!scope.ok()) return std::nullopt;
    const std::optional<Digest> name = PlanIdIn(request);
    std::optional<grpc::ByteBuffer> known =
        name.has_value() ? parts_.cache.Find(*scope, *name)
                         : parts_.cache.Find(*scope, request);
    if (known.has_value()) parts_.metrics.OnKnownPlan();
    return known;
  }

  const PlannerServiceParts parts_;
  SparseKinds refusals_;
};

}  // namespace

std::unique_ptr<grpc::Service> CreatePlannerService(
    const PlannerServiceParts& parts) {
  return std::make_unique<PlannerService>(parts);
}

}  // namespace tangram
