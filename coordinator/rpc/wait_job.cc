#include "coordinator/rpc/wait_job.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/base/status_macros.h"
#include "common/sync/mutex.h"
#include "common/wire/grpc_status.h"
#include "coordinator/rpc/job_masks.h"
#include "coordinator/rpc/job_names.h"
#include "coordinator/rpc/job_wire.h"
#include "coordinator/rpc/received_message.h"
#include "tangram/v1/job_service.pb.h"

namespace tangram {
namespace {

// A call that waits for the end of a job. Looks when something happened and
// once a second. gRPC owns it until OnDone; a look under way keeps it alive.
class WaitCall : public grpc::ServerUnaryReactor,
                 public std::enable_shared_from_this<WaitCall> {
 public:
  struct Order {
    std::string job_id;
    Caller caller;
    google::protobuf::FieldMask mask;
    double until_s = 0;
    std::shared_ptr<void> place;  // In the quota of the tenant's watches.
  };

  WaitCall(const WatchJobParts& parts, std::function<double()> now_s,
           Order order, grpc::ByteBuffer& response)
      : parts_(parts),
        now_s_(std::move(now_s)),
        order_(std::move(order)),
        response_(response) {}

  void Start() {
    self_ = shared_from_this();
    watch_ = parts_.watchers.Watch(order_.job_id, [weak = weak_from_this()] {
      if (const auto call = weak.lock()) call->Look();
    });
  }

  void OnCancel() override { End(absl::CancelledError("cancelled"), nullptr); }

  void OnDone() override {
    watch_.reset();
    order_.place.reset();
    // Deletes this, unless a look is under way.
    const std::shared_ptr<WaitCall> self = std::move(self_);
  }

 private:
  void Look() {
    {
      const MutexLock lock(mutex_);
      if (has_ended_) return;
    }
    const absl::StatusOr<JobPulse> pulse = parts_.store.Pulse(order_.job_id);
    if (!pulse.ok()) return End(pulse.status(), nullptr);
    if (!IsFinished(pulse->state) && now_s_() < order_.until_s) return;
    const absl::StatusOr<Job> job = parts_.store.Get(order_.job_id);
    if (!job.ok()) return End(job.status(), nullptr);
    const absl::StatusOr<std::string> waits_for = WaitsFor(parts_.store, *job);
    if (!waits_for.ok()) return End(waits_for.status(), nullptr);
    const v1::Job message =
        ToProto(*job, order_.caller, order_.mask, *waits_for);
    End(absl::OkStatus(), &message);
  }

  // Finishes the call once.
  void End(const absl::Status& status, const v1::Job* job) {
    {
      const MutexLock lock(mutex_);
      if (std::exchange(has_ended_, true)) return;
    }
    if (job != nullptr) response_ = SerializeMessage(*job);
    Finish(ToGrpc(WithJobName(status, order_.job_id, order_.caller)));
  }

  const WatchJobParts parts_;
  const std::function<double()> now_s_;
  Order order_;
  grpc::ByteBuffer& response_;
  std::shared_ptr<WaitCall> self_;
  std::shared_ptr<void> watch_;
  Mutex mutex_;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
};

class RefusedWait : public grpc::ServerUnaryReactor {
 public:
  explicit RefusedWait(const absl::Status& status) { Finish(ToGrpc(status)); }
  void OnDone() override { delete this; }
};

absl::StatusOr<WaitCall::Order> OrderOf(const WatchJobParts& parts,
                                        double now_s,
                                        const grpc::ByteBuffer& bytes,
                                        const absl::StatusOr<Caller>& caller) {
  TANGRAM_RETURN_IF_ERROR(caller.status());
  v1::WaitJobRequest request;
  TANGRAM_RETURN_IF_ERROR(ParseSmallRequest(bytes, request));
  TANGRAM_RETURN_IF_ERROR(CheckJobTime("timeout_s", request.timeout_s()));
  TANGRAM_RETURN_IF_ERROR(CheckReadMask(request.read_mask()));
  WaitCall::Order order{
      .caller = *caller,
      .mask = request.read_mask(),
      .until_s = request.timeout_s() > 0
                     ? now_s + request.timeout_s()
                     : std::numeric_limits<double>::infinity()};
  TANGRAM_ASSIGN_OR_RETURN(order.job_id, JobIdOf(request.job_id(), *caller));
  TANGRAM_ASSIGN_OR_RETURN(order.place, parts.quota.BeginWatch(caller->tenant));
  return order;
}

}  // namespace

grpc::ServerUnaryReactor* StartWait(const WatchJobParts& parts,
                                    const std::function<double()>& now_s,
                                    const grpc::ByteBuffer& request,
                                    const absl::StatusOr<Caller>& caller,
                                    grpc::ByteBuffer& response) {
  absl::StatusOr<WaitCall::Order> order =
      OrderOf(parts, now_s(), request, caller);
  if (!order.ok()) return new RefusedWait(order.status());
  auto call =
      std::make_shared<WaitCall>(parts, now_s, *std::move(order), response);
  call->Start();
  return call.get();
}

}  // namespace tangram
