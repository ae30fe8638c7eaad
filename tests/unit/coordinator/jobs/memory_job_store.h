#ifndef TANGRAM_TESTS_UNIT_COORDINATOR_JOBS_MEMORY_JOB_STORE_H_
#define TANGRAM_TESTS_UNIT_COORDINATOR_JOBS_MEMORY_JOB_STORE_H_

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/store/job_store.h"

namespace tangram::testing {

// Jobs in memory, without time: leases end when a test says so. Can be told to
// fail. Uses no library, because ThreadSanitizer cannot see inside libraries.
class MemoryJobStore : public JobStore {
 public:
  // Makes every later call fail with `code`; OK ends this.
  void FailWith(absl::StatusCode code) {
    const std::lock_guard lock(mutex_);
    failure_ = code;
    changed_.notify_all();
  }
  // Gives a running job to another owner.
  void TakeAway(const std::string& id, const std::string& owner) {
    const std::lock_guard lock(mutex_);
    Find(id)->owner = owner;
    ++Find(id)->attempts;
  }
  // Deletes a running job, and queues another one of the same id.
  void Replace(const std::string& id, const std::string& request) {
    const std::lock_guard lock(mutex_);
    Job& job = *Find(id);
    job = {.id = id, .sequence = job.sequence + 1, .request = request};
  }
  // Makes a running job claimable, as if its lease had ended.
  void Expire(const std::string& id) {
    const std::lock_guard lock(mutex_);
    Find(id)->state = JobState::kQueued;
  }
  // Makes renewals wait before they return, until they are released.
  void HoldRenewals() {
    const std::lock_guard lock(mutex_);
    holds_renewals_ = true;
  }
  void AwaitHeldRenewal() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return num_held_renewals_ > 0; });
  }
  void LetRenewalsGo() {
    const std::lock_guard lock(mutex_);
    holds_renewals_ = false;
    changed_.notify_all();
  }
  // Does the same to claims that got a job.
  void HoldClaims() {
    const std::lock_guard lock(mutex_);
    holds_claims_ = true;
  }
  int last_max_of_key() {
    const std::lock_guard lock(mutex_);
    return last_max_of_key_;
  }
  int num_ended_delays() {
    const std::lock_guard lock(mutex_);
    return num_ended_delays_;
  }
  void AwaitHeldClaim() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return num_held_claims_ > 0; });
  }
  void LetClaimsGo() {
    const std::lock_guard lock(mutex_);
    holds_claims_ = false;
    changed_.notify_all();
  }
  // Waits until calls to finish a job and to renew its lease came with a lost
  // lease.
  void AwaitRefusals() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return finish_refused_ && renewal_refused_; });
  }
  Job Await(const std::string& id, JobState state) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return Find(id)->state == state; });
    return *Find(id);
  }
  // Waits until jobs were left to others `count` times.
  void AwaitSpared(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return num_spared_ >= count; });
  }
  int num_failures() {
    const std::lock_guard lock(mutex_);
    return num_failures_;
  }

  absl::StatusOr<Job> Submit(const Job& job) override {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(job);
    return job;
  }
  absl::StatusOr<Job> Get(const std::string& id) override {
    const std::lock_guard lock(mutex_);
    return *Find(id);
  }
  absl::StatusOr<JobPulse> Pulse(const std::string&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::vector<Job>> List(const JobFilter&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<int> CountUnfinished(const std::string&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<int> CountWaiting() override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<Job> Cancel(const std::string& id) override {
    const std::lock_guard lock(mutex_);
    Find(id)->cancel_requested = true;
    return *Find(id);
  }

  absl::StatusOr<double> OldestWaitingS() override {
    return absl::UnimplementedError("");
  }

  absl::StatusOr<std::optional<Job>> Claim(const std::string& owner, double,
                                           double left_s,
                                           int max_of_key) override {
    std::unique_lock lock(mutex_);
    last_max_of_key_ = max_of_key;
    if (Fails()) return Failure();
    if (left_s > 0) {
      ++num_spared_;
      changed_.notify_all();
      return std::nullopt;
    }
    for (Job& job : jobs_) {
      if (job.state != JobState::kQueued) continue;
      job.state = JobState::kRunning;
      job.owner = owner;
      ++job.attempts;
      const Job claimed = job;
      ++num_held_claims_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !holds_claims_; });
      --num_held_claims_;
      return claimed;
    }
    return std::nullopt;
  }
  absl::StatusOr<std::vector<Job>> Renew(absl::Span<const JobLease> leases,
                                         double) override {
    std::unique_lock lock(mutex_);
    if (Fails()) return Failure();
    std::vector<Job> held;
    for (const JobLease& lease : leases) {
      if (Job* job = Held(lease)) held.push_back(*job);
    }
    renewal_refused_ |= held.size() < leases.size();
    ++num_held_renewals_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !holds_renewals_; });
    --num_held_renewals_;
    return held;
  }
  absl::Status AppendEvent(const JobLease& lease,
                           const std::string& progress) override {
    const std::lock_guard lock(mutex_);
    if (Fails()) return Failure();
    if (Held(lease) == nullptr) return Lost();
    events_.push_back({.number = static_cast<int64_t>(events_.size()) + 1,
                       .progress = progress});
    return absl::OkStatus();
  }
  absl::Status Finish(const JobLease& lease, const Job& outcome) override {
    const std::lock_guard lock(mutex_);
    if (Fails()) return Failure();
    Job* job = Held(lease);
    if (job == nullptr) {
      finish_refused_ = true;
      changed_.notify_all();
      return Lost();
    }
    // Fails like a database with a limit on the size of values.
    if (outcome.result.size() > 1000) return absl::InternalError("too large");
    job->state = outcome.state;
    job->result = outcome.result;
    job->error = outcome.error;
    changed_.notify_all();
    return absl::OkStatus();
  }
  absl::Status Release(const JobLease& lease, const PutBack& how) override {
    const std::lock_guard lock(mutex_);
    if (Fails()) return Failure();
    if (Held(lease) == nullptr) return Lost();
    // One that must wait is no test's next one.
    Job* const job = Held(lease);
    job->state = how.delay_s > 0 ? JobState::kCancelled : JobState::kQueued;
    put_back_ = how;
    changed_.notify_all();
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<JobEvent>> EventsAfter(const std::string&,
                                                    int64_t) override {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  // How the last job was put back.
  PutBack put_back() {
    const std::lock_guard lock(mutex_);
    return put_back_;
  }
  void SetRival() {
    const std::lock_guard lock(mutex_);
    has_rival_ = true;
  }
  void Change(const std::string& id, int priority) {
    const std::lock_guard lock(mutex_);
    Find(id)->priority = priority;
  }
  void PassDeadline(const std::string& id) {
    const std::lock_guard lock(mutex_);
    Find(id)->error = absl::DeadlineExceededError("late");
  }
  absl::StatusOr<bool> HasRival(const Job&, bool) override {
    const std::lock_guard lock(mutex_);
    return has_rival_;
  }
  absl::StatusOr<TenantUsage> Usage(const std::string&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<Job> Update(const std::string&, const JobChanges&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<Job> Retry(const std::string&, double) override {
    return absl::UnimplementedError("");
  }
  absl::Status Delete(const std::string&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<int> Erase(const std::string&, int) override {
    return absl::UnimplementedError("");
  }
  absl::Status EndDelays() override {
    const std::lock_guard lock(mutex_);
    if (failure_ != absl::StatusCode::kOk) return Failure();
    ++num_ended_delays_;
    return absl::OkStatus();
  }
  absl::StatusOr<int> EndOverdue(int) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::optional<DueEvent>> TakeDueEvent(
      const EventTurn&) override {
    return absl::UnimplementedError("");
  }
  absl::Status SettleEvent(const Job&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<int> Forget(double, int) override {
    return absl::UnimplementedError("");
  }

 private:
  bool Fails() {
    if (failure_ == absl::StatusCode::kOk) return false;
    ++num_failures_;
    return true;
  }
  absl::Status Failure() const { return absl::Status(failure_, "the store"); }
  static absl::Status Lost() { return absl::FailedPreconditionError("lost"); }
  Job* Find(const std::string& id) {
    for (Job& job : jobs_) {
      if (job.id == id) return &job;
    }
    return nullptr;
  }
  Job* Held(const JobLease& lease) {
    Job* job = Find(lease.job_id);
    const bool is_held =
        job->state == JobState::kRunning && LeaseOf(*job) == lease;
    return is_held ? job : nullptr;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Job> jobs_;
  std::vector<JobEvent> events_;
  absl::StatusCode failure_ = absl::StatusCode::kOk;
  int num_failures_ = 0;
  PutBack put_back_;
  bool has_rival_ = false;
  int num_spared_ = 0;
  int last_max_of_key_ = 0;
  int num_ended_delays_ = 0;
  bool holds_renewals_ = false;
  int num_held_renewals_ = 0;
  bool holds_claims_ = false;
  int num_held_claims_ = 0;
  bool finish_refused_ = false;
  bool renewal_refused_ = false;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_COORDINATOR_JOBS_MEMORY_JOB_STORE_H_
