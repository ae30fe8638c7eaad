#include "coordinator/rpc/frontier_service.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/domain/keep_nodes.h"
#include "common/obs/sparse_warning.h"
#include "common/sync/mutex.h"
#include "common/wire/allocation_answer.h"
#include "common/wire/grpc_status.h"
#include "coordinator/frontier/stage_times_memo.h"
#include "coordinator/planners/frontier/allocation_list.h"
#include "coordinator/planning/frontier_order.h"
#include "coordinator/planning/recorded_plan.h"
#include "coordinator/rpc/known_answer_handler.h"
#include "coordinator/rpc/planning_call.h"
#include "coordinator/rpc/received_message.h"
#include "tangram/v1/frontier_service.grpc.pb.h"

namespace tangram {
namespace {

// The number of the method in the service.
constexpr int kFrontier = 0;
// Answers of one message of the stream; about 100 bytes each.
constexpr int kMostInUpdate = 1000;

// Returns the name of the answer for one allocation.
Digest AnswerName(const Digest& order, const std::vector<int>& allocation) {
  const absl::string_view parts[] = {
      order.view(),
      {reinterpret_cast<const char*>(allocation.data()),
       allocation.size() * sizeof(int)}};
  return Sha256()(parts);
}

// A call that plans allocations with some jobs of the executor, each with one
// allocation at a time. Jobs and gRPC's threads write to the stream. The object
// lives until gRPC is done with it, which is after Finish, so nothing may touch
// it after that.
class FrontierCall : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  FrontierCall(const FrontierServiceParts& parts,
               grpc::CallbackServerContext& context, SparseKinds& refusals)
      : parts_(parts), context_(context), refusals_(refusals) {}

  void Start(const grpc::ByteBuffer& request) {
    if (parts_.planner.is_draining()) {
      return Refuse(absl::UnavailableError("the coordinator is shutting down"),
                    "draining");
    }
    plans_era_ = parts_.planner.cache.era();
    answers_era_ = parts_.answers.era();
    // Before the request is read, which may take many times its bytes.
    if (const absl::Status status = caller_.Admit(parts_.planner, context_);
        !status.ok()) {
      return Refuse(status, "calls");
    }
    if (const absl::Status status = Take(request); !status.ok()) {
      return Refuse(status,
                    absl::IsResourceExhausted(status) ? "memory" : "request");
    }
    caller_.scope.adapters = parts_.planner.pool.OfferedAdapters();
    FindKnown();
    // Locked, so that no job ends the call before all are counted.
    mutex_.lock();
    if (!SubmitJobs()) {
      mutex_.unlock();
      return Refuse(
          parts_.planner.quota.Busy(caller_.tenant,
                                    "too many plans at once; ask again later"),
          "queue");
    }
    WriteNextAndUnlock();
  }

  void OnWriteDone(bool) override {
    mutex_.lock();
    is_writing_ = false;
    WriteNextAndUnlock();
  }

  void OnCancel() override {
    is_cancelled_ = true;
    mutex_.lock();
    for (const FairExecutor::JobId job : jobs_) {
      if (parts_.planner.executor.Remove(job)) --num_jobs_;
    }
    jobs_.clear();
    WriteNextAndUnlock();  // The running jobs end the call.
  }

  void OnDone() override { delete this; }

 private:
  // `reason`: for the metric.
  void Refuse(const absl::Status& status, const char* reason) {
    NoteRefusal(parts_.planner, refusals_, caller_.tenant, "frontier", status,
                reason);
    Finish(ToGrpc(status));
  }

  // Decodes the request within the budget.
  absl::Status Take(const grpc::ByteBuffer& request) {
    TANGRAM_ASSIGN_OR_RETURN(
        memory_,
        TakeMemory(parts_.planner, request, *v1::FrontierRequest::descriptor(),
                   caller_.tenant));
    v1::FrontierRequest message;
    TANGRAM_RETURN_IF_ERROR(ParseMessage(request, message));
    TANGRAM_ASSIGN_OR_RETURN(order_, tangram::FromProto(message));
    request_ = RequestName(request);
    return memory_.Resize(2 * static_cast<int64_t>(request.Length()) +
                          BytesOf(order_));
  }

  // Puts known answers into the stream, and the others in the order of
  // planning.
  void FindKnown() {
    const MutexLock lock(mutex_);
    for (const int64_t i :
         PlanningOrder(order_.allocations, GpusOfNodes(order_.cluster()))) {
      std::optional<grpc::ByteBuffer> known;
      if (!order_.whole.skip_cache) {
        known = parts_.answers.Find(
            caller_.scope, AnswerName(order_.name, order_.allocations[i]));
      }
      v1::AllocationAnswer answer;
      if (known.has_value() && ParseMessage(*known, answer).ok()) {
        answer.set_index(static_cast<int32_t>(i));
        answer.set_from_cache(true);
        answered_.push_back(std::move(answer));
      } else {
        to_plan_.push_back(i);
      }
    }
  }

  // Returns false if no job is accepted, though there is something to plan.
  bool SubmitJobs() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto wanted = static_cast<int>(std::min<size_t>(
        to_plan_.size(), static_cast<size_t>(parts_.most_at_once)));
    if (wanted == 0) return true;
    memo_ = CreateStageTimesMemo();
    while (num_jobs_ < wanted) {
      const std::optional<FairExecutor::JobId> job =
          parts_.planner.executor.Submit(caller_.tenant, [this] { Run(); });
      if (!job.has_value()) break;
      jobs_.push_back(*job);
      ++num_jobs_;
    }
    return num_jobs_ > 0;
  }

  bool ShouldStop() const {
    return is_cancelled_ || has_failed_ || IsOverLimit() ||
           parts_.planner.must_stop();
  }
  // The time counts from the first allocation on.
  bool IsOverLimit() const {
    const double began_s = began_s_;
    return parts_.planner.max_plan_s > 0 && began_s > 0 &&
           parts_.planner.now_s() - began_s > parts_.planner.max_plan_s;
  }

  // One job: plans allocations until none is left.
  void Run() {
    double not_begun_s = 0;
    began_s_.compare_exchange_strong(not_begun_s, parts_.planner.now_s());
    while (!ShouldStop()) {
      const size_t next = next_++;
      if (next >= to_plan_.size()) break;
      absl::StatusOr<v1::AllocationAnswer> answer = PlanOne(to_plan_[next]);
      mutex_.lock();
      if (answer.ok()) {
        answered_.push_back(*std::move(answer));
      } else if (!has_failed_.exchange(true)) {
        error_ = answer.status();
      }
      WriteNextAndUnlock();
    }
    mutex_.lock();
    --num_jobs_;
    WriteNextAndUnlock();
  }

  absl::StatusOr<v1::AllocationAnswer> PlanOne(int64_t index) {
    const std::vector<int>& allocation = order_.allocations[index];
    AllocationOrder one = OrderFor(order_, allocation);
    one.order.planner.search.shared_times = memo_.get();
    const absl::StatusOr<PlanFile> file =
        RunRecordedPlan(PlanningPartsOf(parts_.planner), std::move(one.order),
                        {.name = caller_.name,
                         .report = [](const PlanningProgress&) {},
                         .should_stop = [this] { return ShouldStop(); },
                         .why_stopped = [this] { return WhyStopped(); },
                         .share = {.key = caller_.tenant}});
    // A request that is bad for one allocation may be good for others.
    if (!file.ok() && !absl::IsInvalidArgument(file.status())) {
      return file.status();
    }
    AllocationAnswer kept = AllocationAnswerOf(file, order_.cluster().groups);
    if (file.ok()) Keep(*file, one.wire, kept);
    v1::AllocationAnswer answer = tangram::ToProto(kept);
    if (file.ok() && !file->result.stats.truncated &&
        !order_.whole.skip_cache && HasSameAdapters()) {
      parts_.answers.Insert(caller_.scope, AnswerName(order_.name, allocation),
                            SerializeMessage(answer), answers_era_);
    } else {
      NoteNotKept(file.status());
    }
    answer.set_index(static_cast<int32_t>(index));
    return answer;
  }

  void NoteNotKept(const absl::Status& status) {
    const MutexLock lock(mutex_);
    keeps_all_ = false;
    if (status.ok()) return;
    if (bad_.ok()) bad_ = status;
    ++num_bad_;
  }

  // Keeps the plan for planning calls, and names it.
  void Keep(const PlanFile& file, const std::string& wire,
            AllocationAnswer& kept) {
    if (file.result.stats.truncated || order_.whole.skip_cache ||
        !HasSameAdapters()) {
      return;
    }
    v1::PlanUpdate update;
    *update.mutable_result() = tangram::ToProto(file);
    grpc::Slice slice(wire);
    const Digest name = RequestName(grpc::ByteBuffer(&slice, 1));
    parts_.planner.cache.Insert(caller_.scope, name, SerializeMessage(update),
                                plans_era_);
    kept.plan_id = std::string(name.view());
  }

  // Answers are kept only if the adapters have not changed since.
  bool HasSameAdapters() const {
    return caller_.scope.adapters == parts_.planner.pool.OfferedAdapters();
  }

  absl::Status WhyStopped() const {
    if (!is_cancelled_ && IsOverLimit()) {
      return absl::DeadlineExceededError(absl::StrCat(
          "not all within ", parts_.planner.max_plan_s,
          " s (--max_plan_s); ask for fewer allocations, or again: those that "
          "were answered are kept"));
    }
    return WhyEnded(is_cancelled_, context_, "not all before the deadline");
  }

  absl::Status Outcome() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!error_.ok()) return error_;
    const size_t num_written = static_cast<size_t>(num_written_);
    if (num_written < order_.allocations.size()) return WhyStopped();
    // Bad for every allocation.
    return num_bad_ == order_.allocations.size() ? bad_ : absl::OkStatus();
  }

  // Keeps all answers as one, for the same call again.
  void KeepAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!keeps_all_ || !HasSameAdapters()) return;
    for (v1::AllocationAnswer& answer : *all_.mutable_answers()) {
      answer.set_from_cache(true);
    }
    parts_.answers.Insert(caller_.scope, request_, SerializeMessage(all_),
                          answers_era_);
  }

  // Writes the answers that have come if the stream is free. Ends the call
  // without the lock once no job is left, because that may delete this.
  void WriteNextAndUnlock() ABSL_UNLOCK_FUNCTION(mutex_) {
    if (is_writing_ || is_finished_) return mutex_.unlock();
    if (!answered_.empty() && !is_cancelled_) {
      v1::FrontierUpdate update;
      const size_t num = std::min<size_t>(answered_.size(), kMostInUpdate);
      for (size_t i = 0; i < num; ++i) {
        *all_.add_answers() = answered_[i];
        *update.add_answers() = std::move(answered_[i]);
      }
      answered_.erase(answered_.begin(),
                      answered_.begin() + static_cast<int64_t>(num));
      num_written_ += static_cast<int64_t>(num);
      written_ = SerializeMessage(update);
      is_writing_ = true;
      StartWrite(&written_);
      return mutex_.unlock();
    }
    if (num_jobs_ > 0) return mutex_.unlock();
    is_finished_ = true;
    const absl::Status outcome = Outcome();
    if (outcome.ok()) KeepAll();
    mutex_.unlock();
    Finish(ToGrpc(outcome));
  }

  const FrontierServiceParts& parts_;
  grpc::CallbackServerContext& context_;
  SparseKinds& refusals_;  // Log of refusals, by status code.
  FrontierOrder order_;
  Digest request_;
  PlanningCaller caller_;
  MemoryBudget::Share memory_;  // Memory of order_.
  // The state of the caches when the call began.
  int64_t plans_era_ = 0;
  int64_t answers_era_ = 0;
  std::unique_ptr<SharedStageTimes> memo_;
  std::vector<int64_t> to_plan_;     // Set before jobs begin.
  std::atomic<size_t> next_ = 0;     // Into to_plan_.
  std::atomic<double> began_s_ = 0;  // 0: no job has begun.
  std::atomic<bool> is_cancelled_ = false;
  std::atomic<bool> has_failed_ = false;

  Mutex mutex_;
  std::vector<FairExecutor::JobId> jobs_ ABSL_GUARDED_BY(mutex_);
  int num_jobs_ ABSL_GUARDED_BY(mutex_) = 0;  // Not ended.
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
  // Must live while it is written.
  grpc::ByteBuffer written_ ABSL_GUARDED_BY(mutex_);
  // Not written yet.
  std::vector<v1::AllocationAnswer> answered_ ABSL_GUARDED_BY(mutex_);
  v1::FrontierUpdate all_ ABSL_GUARDED_BY(mutex_);
  int64_t num_written_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
  bool keeps_all_ ABSL_GUARDED_BY(mutex_) = true;
  absl::Status bad_ ABSL_GUARDED_BY(mutex_);  // The first of num_bad_.
  size_t num_bad_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Takes requests as bytes, because a known one need not be decoded.
class FrontierService : public v1::Frontiers::Service {
 public:
  explicit FrontierService(const FrontierServiceParts& parts) : parts_(parts) {
    MarkMethodRawCallback(
        kFrontier, new KnownAnswerHandler(
                       [this](const grpc::CallbackServerContext& context,
                              const grpc::ByteBuffer& request) {
                         return FindKnown(context, request);
                       },
                       [this](grpc::CallbackServerContext* context,
                              const grpc::ByteBuffer* request) {
                         auto* call =
                             new FrontierCall(parts_, *context, refusals_);
                         call->Start(*request);
                         return call;
                       }));
  }

 private:
  std::optional<grpc::ByteBuffer> FindKnown(
      const grpc::CallbackServerContext& context,
      const grpc::ByteBuffer& request) {
    const absl::StatusOr<PlanScope> scope = ScopeOf(parts_.planner, context);
    // Not known: the call then refuses the caller.
    if (!scope.ok()) return std::nullopt;
    std::optional<grpc::ByteBuffer> known =
        parts_.answers.Find(*scope, request);
    if (known.has_value()) parts_.planner.metrics.OnKnownPlan();
    return known;
  }

  const FrontierServiceParts parts_;
  SparseKinds refusals_;
};

}  // namespace

std::unique_ptr<grpc::Service> CreateFrontierService(
    const FrontierServiceParts& parts) {
  return std::make_unique<FrontierService>(parts);
}

}  // namespace tangram
