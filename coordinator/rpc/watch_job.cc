#include "coordinator/rpc/watch_job.h"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/status_macros.h"
#include "common/sync/mutex.h"
#include "common/wire/grpc_status.h"
#include "coordinator/rpc/job_names.h"
#include "coordinator/rpc/job_wire.h"
#include "coordinator/rpc/received_message.h"
#include "tangram/v1/job_service.pb.h"

namespace tangram {
namespace {

// A call that watches a job. It reads the store when something happened and
// writes what is new. gRPC owns it until OnDone. A look under way keeps it
// alive.
class WatchCall : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                  public std::enable_shared_from_this<WatchCall> {
 public:
  WatchCall(const WatchJobParts& parts, std::string job_id, Caller caller,
            std::shared_ptr<void> place, int64_t after_event)
      : parts_(parts),
        job_id_(std::move(job_id)),
        caller_(std::move(caller)),
        place_(std::move(place)),
        last_event_(after_event) {}

  void Start() {
    self_ = shared_from_this();
    watch_ = parts_.watchers.Watch(job_id_, [weak = weak_from_this()] {
      if (const auto call = weak.lock()) call->Look();
    });
  }

  void OnWriteDone(bool ok) override {
    mutex_.lock();
    is_writing_ = false;
    updates_.pop_front();
    if (!ok) End(grpc::Status::CANCELLED);
    WriteNextAndUnlock();
  }

  void OnCancel() override {
    mutex_.lock();
    End(grpc::Status::CANCELLED);
    WriteNextAndUnlock();
  }

  void OnDone() override {
    watch_.reset();
    place_.reset();
    // Deletes this, unless a look is under way.
    const std::shared_ptr<WatchCall> self = std::move(self_);
  }

 private:
  void Look() {
    {
      const MutexLock lock(mutex_);
      if (outcome_.has_value()) return;
    }
    const absl::StatusOr<News> news = LookForNews();
    mutex_.lock();
    if (!outcome_.has_value()) Take(news);
    WriteNextAndUnlock();
  }

  struct News {
    std::vector<JobEvent> events;
    std::optional<Job> ended;
  };

  // Reads only what is new, because requests and results are large.
  absl::StatusOr<News> LookForNews() {
    // Read first, so that no event of an ended job is missed.
    TANGRAM_ASSIGN_OR_RETURN(const JobPulse pulse, parts_.store.Pulse(job_id_));
    News news;
    if (pulse.last_event > last_event_) {
      TANGRAM_ASSIGN_OR_RETURN(news.events,
                               parts_.store.EventsAfter(job_id_, last_event_));
    }
    if (IsFinished(pulse.state)) {
      TANGRAM_ASSIGN_OR_RETURN(news.ended, parts_.store.Get(job_id_));
    }
    return news;
  }

  void Take(const absl::StatusOr<News>& news)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!news.ok()) {
      outcome_ = ToGrpc(WithJobName(news.status(), job_id_, caller_));
      return;
    }
    for (const JobEvent& event : news->events) {
      last_event_ = event.number;
      v1::JobUpdate update;
      update.set_event(event.number);
      update.mutable_progress()->ParseFromString(event.progress);
      updates_.push_back(SerializeMessage(update));
    }
    if (!news->ended.has_value()) return;
    v1::JobUpdate last;
    *last.mutable_job() = ToProto(*news->ended, caller_);
    updates_.push_back(SerializeMessage(last));
    outcome_ = grpc::Status::OK;
  }

  // Ends the call of a caller that is gone. Drops the updates not yet written.
  void End(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    outcome_ = status;
    while (updates_.size() > (is_writing_ ? 1u : 0u)) updates_.pop_back();
  }

  // Writes the next update if the stream is free, or ends the call. Calls
  // Finish without the lock, because that may delete this.
  void WriteNextAndUnlock() ABSL_UNLOCK_FUNCTION(mutex_) {
    std::optional<grpc::Status> status;
    if (!is_writing_ && !is_finished_) {
      if (!updates_.empty()) {
        is_writing_ = true;
        StartWrite(&updates_.front());
      } else if (outcome_.has_value()) {
        is_finished_ = true;
        status = outcome_;
      }
    }
    mutex_.unlock();
    if (status.has_value()) Finish(*status);
  }

  const WatchJobParts parts_;
  const std::string job_id_;
  const Caller caller_;
  std::shared_ptr<WatchCall> self_;
  std::shared_ptr<void> watch_;
  std::shared_ptr<void> place_;  // Place in the quota of the tenant's watches.
  int64_t last_event_;           // Used only by looks, one at a time.

  Mutex mutex_;
  std::deque<grpc::ByteBuffer> updates_
      ABSL_GUARDED_BY(mutex_);  // The first may be under way.
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
  // Status to end with, once all updates are written.
  std::optional<grpc::Status> outcome_ ABSL_GUARDED_BY(mutex_);
};

class RefusedCall : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit RefusedCall(const absl::Status& status) { Finish(ToGrpc(status)); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartWatch(
    const WatchJobParts& parts, const grpc::ByteBuffer& bytes,
    const absl::StatusOr<Caller>& caller) {
  if (!caller.ok()) return new RefusedCall(caller.status());
  v1::WatchJobRequest request;
  if (const absl::Status status = ParseSmallRequest(bytes, request);
      !status.ok()) {
    return new RefusedCall(status);
  }
  absl::StatusOr<std::string> id = JobIdOf(request.job_id(), *caller);
  if (!id.ok()) return new RefusedCall(id.status());
  auto place = parts.quota.BeginWatch(caller->tenant);
  if (!place.ok()) return new RefusedCall(place.status());
  auto call = std::make_shared<WatchCall>(
      parts, *std::move(id), *caller, *std::move(place), request.after_event());
  call->Start();
  return call.get();
}

}  // namespace tangram
