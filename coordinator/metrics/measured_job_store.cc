#include "coordinator/metrics/measured_job_store.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "common/obs/sparse_warning.h"
#include "common/sync/mutex.h"

namespace tangram {
namespace {

std::string EventOf(JobState state) {
  switch (state) {
    case JobState::kSucceeded:
      return "succeeded";
    case JobState::kFailed:
      return "failed";
    default:
      return "cancelled";
  }
}

// Whether the text is the database's.
bool IsOfDatabase(const absl::Status& status) {
  return absl::StartsWith(status.message(), "database: ") &&
         (absl::IsInvalidArgument(status) || absl::IsUnavailable(status) ||
          absl::IsResourceExhausted(status));
}

// Statements and addresses of the database are for operators, not for callers.
absl::Status ForCallers(const absl::Status& status) {
  if (absl::IsInvalidArgument(status)) {
    return absl::InvalidArgumentError(
        "a name or page token is not UTF-8 or has the character 0; expected "
        "one that the service gave");
  }
  if (absl::IsUnavailable(status)) {
    return absl::UnavailableError(
        "the database of jobs does not answer; ask again later");
  }
  if (absl::IsResourceExhausted(status)) {
    return absl::ResourceExhaustedError(
        "the database of jobs has no room; its coordinator's log says why");
  }
  return absl::InternalError(
      "the database of jobs has failed; its coordinator's log says why");
}

// Forwards each call. Counts an event of a job when the call that causes it
// succeeds. Remembers when jobs were claimed here, to measure how long they
// ran.
class MeasuredJobStore : public JobStore {
 public:
  MeasuredJobStore(std::unique_ptr<JobStore> store, Metrics& metrics,
                   std::function<double()> now_s,
                   std::function<void(const absl::Status&)> on_damage)
      : store_(std::move(store)),
        now_s_(std::move(now_s)),
        on_damage_(std::move(on_damage)),
        latency_(metrics.AddDurations("tangram_store_duration_seconds",
                                      "Calls to the database of jobs.")),
        failures_(metrics.AddCounter(
            "tangram_store_failures_total",
            "Calls that the database of jobs could not serve.")),
        events_(
            metrics.AddCounter("tangram_jobs_total", "Events of jobs here.")),
        durations_(metrics.AddDurations(
            "tangram_job_duration_seconds",
            "Time from claiming a job to its end, by its last state.")) {
    failures_.Add({}, 0);
    for (const char* event : {"submitted", "started", "succeeded", "failed",
                              "cancelled", "put_back"}) {
      events_.Add({{"event", event}}, 0);
    }
  }

  absl::StatusOr<Job> Submit(const Job& job) override {
    const bool is_new = absl::IsNotFound(Pulse(job.id).status());
    auto kept = Measure("submit", [&] { return store_->Submit(job); });
    if (kept.ok() && is_new) events_.Add({{"event", "submitted"}});
    return kept;
  }
  absl::StatusOr<Job> Get(const std::string& id) override {
    return Measure("get", [&] { return store_->Get(id); });
  }
  absl::StatusOr<JobPulse> Pulse(const std::string& id) override {
    return Measure("pulse", [&] { return store_->Pulse(id); });
  }
  absl::StatusOr<std::vector<Job>> List(const JobFilter& filter) override {
    return Measure("list", [&] { return store_->List(filter); });
  }
  absl::StatusOr<int> CountUnfinished(const std::string& tenant) override {
    return Measure("count", [&] { return store_->CountUnfinished(tenant); });
  }
  absl::StatusOr<int> CountWaiting() override {
    return Measure("count", [&] { return store_->CountWaiting(); });
  }
  absl::StatusOr<double> OldestWaitingS() override {
    return Measure("count", [&] { return store_->OldestWaitingS(); });
  }
  absl::StatusOr<TenantUsage> Usage(const std::string& tenant) override {
    return Measure("usage", [&] { return store_->Usage(tenant); });
  }
  absl::StatusOr<bool> HasRival(const Job& running, bool of_any_key) override {
    return Measure("count",
                   [&] { return store_->HasRival(running, of_any_key); });
  }
  absl::StatusOr<Job> Update(const std::string& id,
                             const JobChanges& changes) override {
    return Measure("update", [&] { return store_->Update(id, changes); });
  }
  absl::StatusOr<Job> Retry(const std::string& id, double timeout_s) override {
    return Measure("retry", [&] { return store_->Retry(id, timeout_s); });
  }
  absl::Status Delete(const std::string& id) override {
    return Measure("delete", [&] { return store_->Delete(id); });
  }
  absl::StatusOr<int> Erase(const std::string& tenant, int limit) override {
    return Measure("erase", [&] { return store_->Erase(tenant, limit); });
  }
  absl::Status EndDelays() override {
    return Measure("end_delays", [&] { return store_->EndDelays(); });
  }
  absl::StatusOr<int> EndOverdue(int limit) override {
    auto ended =
        Measure("end_overdue", [&] { return store_->EndOverdue(limit); });
    if (ended.ok() && *ended > 0) events_.Add({{"event", "failed"}}, *ended);
    return ended;
  }
  absl::StatusOr<std::optional<DueEvent>> TakeDueEvent(
      const EventTurn& turn) override {
    return Measure("take_event", [&] { return store_->TakeDueEvent(turn); });
  }
  absl::Status SettleEvent(const Job& ended) override {
    return Measure("settle_event", [&] { return store_->SettleEvent(ended); });
  }
  absl::StatusOr<Job> Cancel(const std::string& id) override {
    const absl::StatusOr<JobPulse> before = Pulse(id);
    auto job = Measure("cancel", [&] { return store_->Cancel(id); });
    // The runner of a running job counts its end.
    if (job.ok() && job->state == JobState::kCancelled && before.ok() &&
        before->state == JobState::kQueued) {
      events_.Add({{"event", "cancelled"}});
    }
    return job;
  }

  absl::StatusOr<std::optional<Job>> Claim(const std::string& owner,
                                           double lease_s, double left_s,
                                           int max_of_key) override {
    auto job = Measure("claim", [&] {
      return store_->Claim(owner, lease_s, left_s, max_of_key);
    });
    if (job.ok() && job->has_value()) {
      events_.Add({{"event", "started"}});
      const MutexLock lock(mutex_);
      began_[(*job)->id] = {.attempt = (*job)->attempts, .at_s = now_s_()};
    }
    return job;
  }
  absl::StatusOr<std::vector<Job>> Renew(absl::Span<const JobLease> leases,
                                         double lease_s) override {
    auto held =
        Measure("renew", [&] { return store_->Renew(leases, lease_s); });
    if (!held.ok()) return held;
    for (const JobLease& lease : leases) {
      const auto is_it = [&](const Job& job) { return LeaseOf(job) == lease; };
      if (std::none_of(held->begin(), held->end(), is_it)) {
        TakeBeginning(lease);
      }
    }
    return held;
  }
  absl::Status AppendEvent(const JobLease& lease,
                           const std::string& progress) override {
    return Measure("append_event",
                   [&] { return store_->AppendEvent(lease, progress); });
  }
  absl::Status Finish(const JobLease& lease, const Job& outcome) override {
    absl::Status status =
        Measure("finish", [&] { return store_->Finish(lease, outcome); });
    if (status.ok()) {
      const std::string state = EventOf(outcome.state);
      events_.Add({{"event", state}});
      durations_.Observe({{"state", state}}, now_s_() - TakeBeginning(lease));
    } else if (absl::IsFailedPrecondition(status)) {
      TakeBeginning(lease);
    }
    return status;
  }
  absl::Status Release(const JobLease& lease, const PutBack& how) override {
    absl::Status status =
        Measure("release", [&] { return store_->Release(lease, how); });
    TakeBeginning(lease);
    if (status.ok()) events_.Add({{"event", "put_back"}});
    return status;
  }

  absl::StatusOr<std::vector<JobEvent>> EventsAfter(const std::string& id,
                                                    int64_t after) override {
    return Measure("events_after",
                   [&] { return store_->EventsAfter(id, after); });
  }

  absl::StatusOr<int> Forget(double age_s, int limit) override {
    return Measure("forget", [&] { return store_->Forget(age_s, limit); });
  }

 private:
  static const absl::Status& StatusOf(const absl::Status& status) {
    return status;
  }
  template <typename T>
  static const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
    return result.status();
  }

  // Calls `call` with its latency measured. Only errors of the database count
  // as failures, not those of callers.
  template <typename Call>
  std::invoke_result_t<Call> Measure(const char* operation, const Call& call) {
    const double began_s = now_s_();
    auto result = call();
    latency_.Observe({{"operation", operation}}, now_s_() - began_s);
    const absl::Status status = StatusOf(result);
    if (absl::IsInternal(status) || absl::IsUnavailable(status) ||
        absl::IsResourceExhausted(status)) {
      failures_.Add({});
      broken_.Tell(status.ToString());
    }
    if (absl::IsDataLoss(status) && on_damage_ && !is_damaged_.exchange(true)) {
      on_damage_(status);
    }
    if (absl::IsInternal(status) || IsOfDatabase(status)) {
      return ForCallers(status);
    }
    return result;
  }

  struct Beginning {
    int attempt = 0;
    double at_s = 0;
  };

  // Returns when the job was claimed, and forgets it. Returns the current time
  // if this lease is unknown here.
  double TakeBeginning(const JobLease& lease) {
    const MutexLock lock(mutex_);
    const auto it = began_.find(lease.job_id);
    if (it == began_.end() || it->second.attempt != lease.attempt) {
      return now_s_();
    }
    const double at_s = it->second.at_s;
    began_.erase(it);
    return at_s;
  }

  const std::unique_ptr<JobStore> store_;
  const std::function<double()> now_s_;
  const std::function<void(const absl::Status&)> on_damage_;
  std::atomic<bool> is_damaged_ = false;
  SparseWarning broken_{"the database of jobs has failed"};
  DurationHistogram latency_;
  Counter failures_;
  Counter events_;
  DurationHistogram durations_;
  Mutex mutex_;
  // Jobs that run here, by id.
  std::map<std::string, Beginning> began_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<JobStore> CreateMeasuredJobStore(
    std::unique_ptr<JobStore> store, Metrics& metrics,
    std::function<double()> now_s,
    std::function<void(const absl::Status&)> on_damage) {
  return std::make_unique<MeasuredJobStore>(
      std::move(store), metrics, std::move(now_s), std::move(on_damage));
}

}  // namespace tangram
