#include "coordinator/jobs/job_runner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

using Seconds = std::chrono::duration<double>;

// Renewals within the time of a lease: two may fail before it ends. While they
// fail, attempts are four times as frequent, so that a short outage of the
// store costs no job.
constexpr int kRenewals = 3;
constexpr int kTries = 12;
// A coordinator that cannot run jobs leaves them to others for this many poll
// intervals before it takes one.
constexpr int kLooksOfOthers = 3;

// A delay that only puts a job behind the others of its kind.
constexpr double kBehindOthersS = 1e-3;

// Each try of a job that no worker can do costs the store some work. So tries
// of many jobs of a tenant are this far apart, and each is put off by at most
// so much.
constexpr double kTriesApartS = 0.05;
constexpr double kMostPutOffS = 50;
// After the end of its time to wait, a job tries once more.
constexpr double kLastTryS = 0.1;

double NowS() {
  return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns whether this is the first failure since a success. `failing`
// remembers.
bool StartsToFail(const absl::Status& status, std::atomic<bool>& failing) {
  return !failing.exchange(!status.ok()) && !status.ok();
}

// Returns whether the store may accept the call later.
bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

}  // namespace

JobRunner::JobRunner(JobStore& store, JobRunnerOptions options)
    : store_(store),
      options_(std::move(options)),
      tries_({.first_s = 0,
              .apart_s = kTriesApartS,
              .last_s = kMostPutOffS,
              .now_s = NowS}) {
  for (int i = 0; i < options_.num_threads; ++i) {
    workers_.emplace_back([this] { Work(); });
  }
  lease_thread_ = std::thread([this] { KeepLeases(); });
}

JobRunner::~JobRunner() {
  Stop(0);
  for (std::thread& worker : workers_) worker.join();
  {
    const MutexLock lock(mutex_);
    lease_thread_on_ = false;
    changed_.NotifyAll();
  }
  lease_thread_.join();
}

void JobRunner::Wake() {
  const MutexLock lock(mutex_);
  ++wakes_;
  changed_.NotifyAll();
}

bool JobRunner::Stop(double timeout_s) {
  const MutexLock lock(mutex_);
  accepting_ = false;
  changed_.NotifyAll();
  const auto is_idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return running_.empty();
  };
  const bool finished = changed_.WaitFor(mutex_, Seconds(timeout_s), is_idle);
  stopping_ = true;
  changed_.NotifyAll();
  changed_.Wait(mutex_, is_idle);
  return finished;
}

int JobRunner::num_running() {
  const MutexLock lock(mutex_);
  return static_cast<int>(running_.size());
}

// A thread of the runner: claims jobs one at a time and runs them.
void JobRunner::Work() {
  const MutexLock lock(mutex_);
  while (true) {
    // One thread looks at a time, so that idle ones cost the store nothing.
    changed_.Wait(mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !accepting_ || !is_looking_;
    });
    if (!accepting_) return;
    is_looking_ = true;
    const int64_t wakes = wakes_;
    const auto claim = claiming_.insert(++num_claims_).first;
    std::optional<Job> job;
    Running* running = nullptr;
    {
      const MutexUnlock unlock(mutex_);
      const double claimed_s = NowS();
      job = Claim();
      if (job.has_value()) running = Begin(*job, claimed_s);
    }
    claiming_.erase(claim);
    // Another thread looks on while this one works.
    if (running != nullptr) is_looking_ = false;
    changed_.NotifyAll();
    if (running != nullptr) {
      {
        const MutexUnlock unlock(mutex_);
        RunJob(*job, *running);
      }
      running_.erase(job->id);
      ++wakes_;  // Its place is free, so the thread that looks looks again.
      changed_.NotifyAll();
    } else {
      changed_.WaitFor(mutex_, Seconds(options_.poll_interval_s),
                       [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                         return !accepting_ || wakes_ != wakes;
                       });
      is_looking_ = false;
    }
  }
}

std::optional<Job> JobRunner::Claim() {
  const bool is_able = options_.is_able();
  const double left_s = is_able ? 0 : kLooksOfOthers * options_.poll_interval_s;
  if (!is_able) {
    // Jobs can only be told that they wait, so few are tried.
    const MutexLock lock(mutex_);
    changed_.WaitFor(
        mutex_, Seconds(kTriesApartS),
        [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !accepting_; });
  }
  const int max_of_tenant =
      num_running() < options_.num_shared_places ? options_.max_of_tenant : 1;
  absl::StatusOr<std::optional<Job>> job =
      store_.Claim(options_.owner, options_.lease_s, left_s, max_of_tenant);
  if (StartsToFail(job.status(), cannot_claim_)) {
    Note(true, "jobs cannot be taken", "", job.status());
  }
  return job.ok() ? *std::move(job) : std::nullopt;
}

JobRunner::Running* JobRunner::Begin(const Job& job, double claimed_s) {
  {
    const MutexLock lock(mutex_);
    const auto [it, is_new] = running_.try_emplace(job.id);
    Running& running = it->second;
    // The job runs here already: its lease ended, and no other coordinator took
    // it. It continues with the new lease unless it was told to stop. One that
    // was deleted and had the same id stops first.
    const bool is_other = !is_new && running.lease.sequence != job.sequence;
    if (is_other) running.is_lost = running.must_stop = true;
    if (is_new || !running.must_stop) {
      running.lease = LeaseOf(job);
      running.held_until_s = claimed_s + options_.lease_s;
      running.must_stop = job.cancel_requested;
      if (is_new) {
        running.began_s = claimed_s;
        running.job = {.id = job.id,
                       .priority = job.priority,
                       .share_key = job.share_key,
                       .ran_s = job.ran_s};
      }
      return is_new ? &running : nullptr;
    }
  }
  // If this fails, the lease expires.
  store_.Release(LeaseOf(job)).IgnoreError();
  return nullptr;
}

// Waits for the claims under way. A lease that the store calls lost may have
// been replaced by a claim of this runner whose answer has not arrived yet.
void JobRunner::AwaitClaims() {
  const int64_t last = num_claims_;
  changed_.Wait(mutex_, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || claiming_.empty() || *claiming_.begin() > last;
  });
}

JobRunner::Running* JobRunner::FindRunning(const JobLease& lease) {
  const auto it = running_.find(lease.job_id);
  const bool is_it = it != running_.end() && it->second.lease == lease;
  return is_it ? &it->second : nullptr;
}

void JobRunner::KeepLeases() {
  const MutexLock lock(mutex_);
  bool renewed = true;
  // Starts at 0, not at wakes_, to see wakes from before this thread began.
  int64_t wakes = 0;
  while (lease_thread_on_) {
    const Seconds wait(options_.lease_s / (renewed ? kRenewals : kTries));
    changed_.WaitFor(mutex_, wait, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !lease_thread_on_ || wakes_ != wakes;
    });
    // Read before the renewal, so that a wake during it counts.
    wakes = wakes_;
    if (running_.empty()) continue;
    const MutexUnlock unlock(mutex_);
    renewed = RenewLeases();
    if (renewed) PutOneBack();
  }
}

// Stops a job whose deadline or time has passed, and one whose priority has
// changed, which goes on with the new one.
void JobRunner::HeedChanges(const Job& held, Running& running, double now_s) {
  running.must_stop |= held.cancel_requested;
  if (running.must_stop) return;
  const double ran_s = running.job.ran_s + now_s - running.began_s;
  if (!held.error.ok()) {
    running.why = held.error;
  } else if (options_.max_run_s > 0 && ran_s > options_.max_run_s) {
    running.why = absl::DeadlineExceededError(absl::StrCat(
        "job \"", held.id, "\" ran for ", static_cast<int64_t>(ran_s),
        " s; expected at most ", static_cast<int64_t>(options_.max_run_s),
        " (--max_job_s)"));
  } else if (held.priority != running.job.priority) {
    running.is_put_back = true;
  }
  running.must_stop = !running.why.ok() || running.is_put_back;
}

// Puts the job that has run for longest back if its time is up and another one
// waits for the place. A job may run for as long as all its attempts before, so
// that each gets further than the last one, and in all takes no more than twice
// the time that it needs.
void JobRunner::PutOneBack() {
  if (options_.slice_s <= 0) return;
  Job longest;
  bool is_full = false;
  {
    const MutexLock lock(mutex_);
    const double now_s = NowS();
    double longest_s = 0;
    for (const auto& [id, running] : running_) {
      const double ran_s = now_s - running.began_s;
      const double slice_s = std::max(options_.slice_s, running.job.ran_s);
      if (running.must_stop || ran_s < slice_s || ran_s < longest_s) continue;
      longest_s = ran_s;
      longest = running.job;
    }
    is_full = static_cast<int>(running_.size()) >= options_.num_threads;
  }
  if (longest.id.empty()) return;
  const absl::StatusOr<bool> has_rival = store_.HasRival(longest, is_full);
  if (!has_rival.ok() || !*has_rival) return;
  const MutexLock lock(mutex_);
  const auto it = running_.find(longest.id);
  if (it == running_.end() || it->second.must_stop) return;
  it->second.is_put_back = it->second.must_stop = true;
  changed_.NotifyAll();
}

// Returns whether a job should wait for workers that can do it.
bool JobRunner::WaitsForWorkers(const Job& job,
                                const absl::Status& status) const {
  return absl::IsUnavailable(status) && options_.max_wait_s > 0 &&
         MayWaitForWorkers(job, options_.unix_now_s(), options_.max_wait_s);
}

// Returns how long a job waits before it asks for workers again. It costs a job
// no more than a part of the time that it has waited already. The first tries
// are close together all the same: the job may have waited for its turn, or the
// clock may be wrong.
double JobRunner::RetryDelayS(const Job& job) {
  constexpr double kPartOfWait = 1. / 8;
  const double waited_s = options_.unix_now_s() - job.submitted_s;
  const double own_s = std::clamp(
      std::min(kPartOfWait * waited_s, options_.retry_s * job.attempts),
      options_.retry_s, options_.max_retry_s);
  return std::min(own_s + tries_.NextDelayS(job.share_key),
                  options_.max_wait_s - waited_s + kLastTryS);
}

// Appends the reason to the progress of the job, which outlives this process
// and is seen by all coordinators.
void JobRunner::TellWhyItWaits(const Running& running,
                               const absl::Status& why) {
  if (!options_.waiting_progress) return;
  const JobLease lease = LeaseFor(running);
  const std::string progress = options_.waiting_progress(why);
  // If this fails, the log still tells.
  store_.AppendEvent(lease, progress).IgnoreError();
}

// Renews the leases of all running jobs. Marks jobs as lost whose lease has
// another owner, or has ended while the store failed. Returns false if the
// store failed.
bool JobRunner::RenewLeases() {
  std::vector<JobLease> leases;
  double now_s = 0;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, running] : running_) leases.push_back(running.lease);
    now_s = NowS();
    renewing_since_s_ = now_s;
  }
  const absl::StatusOr<std::vector<Job>> held =
      store_.Renew(leases, options_.lease_s);
  if (StartsToFail(held.status(), cannot_renew_)) {
    Note(true, "leases of jobs cannot be renewed", "", held.status());
  }
  // A full database takes no claims of other coordinators either, so the leases
  // hold.
  const bool is_full = absl::IsResourceExhausted(held.status());
  std::map<std::string, const Job*> by_id;
  if (held.ok()) {
    for (const Job& job : *held) by_id[job.id] = &job;
  }
  const MutexLock lock(mutex_);
  renewing_since_s_.reset();
  std::vector<JobLease> missing;
  for (const JobLease& lease : leases) {
    Running* const running = FindRunning(lease);
    if (running == nullptr) continue;
    const auto job = by_id.find(lease.job_id);
    const bool is_held = job != by_id.end();
    if (is_held || is_full) running->held_until_s = now_s + options_.lease_s;
    if (is_held) {
      HeedChanges(*job->second, *running, now_s);
    } else if (held.ok()) {
      missing.push_back(lease);
    } else if (NowS() > running->held_until_s) {
      running->is_lost = running->must_stop = true;
    }
  }
  if (!missing.empty()) AwaitClaims();
  for (const JobLease& lease : missing) {
    Running* const running = FindRunning(lease);
    if (running != nullptr) running->is_lost = running->must_stop = true;
  }
  changed_.NotifyAll();
  return held.ok();
}

// Returns whether the job must stop. If the store hangs, no renewal tells that
// the lease has ended, so this looks at the clock itself.
bool JobRunner::MustStop(Running& running) {
  const MutexLock lock(mutex_);
  const double now_s = NowS();
  const bool store_hangs =
      renewing_since_s_.has_value() &&
      now_s > *renewing_since_s_ + options_.lease_s / kRenewals;
  if (store_hangs && now_s > running.held_until_s) {
    running.is_lost = running.must_stop = true;
  }
  return stopping_ || running.must_stop;
}

JobLease JobRunner::LeaseFor(const Running& running) {
  const MutexLock lock(mutex_);
  return running.lease;
}

absl::StatusOr<std::string> JobRunner::Result(const Job& job,
                                              Running& running) {
  if (job.losses >= options_.max_losses) {
    return absl::InternalError(absl::StrCat("given up after ", job.losses,
                                            " coordinators were lost with it"));
  }
  std::atomic<bool> loses_progress = false;
  const auto report = [&](const std::string& progress) {
    absl::Status status = store_.AppendEvent(LeaseFor(running), progress);
    // Renewals tell that the job is lost; this is no failure of the store.
    if (absl::IsFailedPrecondition(status)) status = absl::OkStatus();
    if (StartsToFail(status, loses_progress)) {
      Note(true, "progress of a job is not kept", job.id, status);
    }
    options_.on_change(job.id);
  };
  return options_.work(job, report, [&] { return MustStop(running); });
}

void JobRunner::RunJob(const Job& job, Running& running) {
  Note(false, "job started", job.id, absl::OkStatus());
  options_.on_change(job.id);
  absl::StatusOr<std::string> result = Result(job, running);
  bool is_lost = false;
  bool was_cancelled = false;
  bool is_ended = false;
  double delay_s = 0;
  double ran_s = 0;
  {
    const MutexLock lock(mutex_);
    ran_s = NowS() - running.began_s;
    is_lost = running.is_lost;
    if (!result.ok() && !running.why.ok()) result = running.why;
    const bool has_own_end = running.is_put_back || !running.why.ok();
    was_cancelled = running.must_stop && !is_lost && !has_own_end;
    is_ended = stopping_ && !was_cancelled && !result.ok();
    if (running.is_put_back && !result.ok()) {
      is_ended = true;
      delay_s = kBehindOthersS;
    }
    if (!was_cancelled && WaitsForWorkers(job, result.status())) {
      is_ended = true;
      delay_s = stopping_ ? 0 : RetryDelayS(job);
    }
  }
  if (is_ended && delay_s > kBehindOthersS) {
    TellWhyItWaits(running, result.status());
  }
  if (is_lost) {
    Note(true, "job lost", job.id, absl::OkStatus());
    // Releases the job in case no other coordinator has taken it.
    store_.Release(LeaseFor(running), {.ran_s = ran_s}).IgnoreError();
  } else if (is_ended) {
    const absl::Status released =
        store_.Release(LeaseFor(running), {.ran_s = ran_s, .delay_s = delay_s});
    const bool waits = delay_s > kBehindOthersS && released.ok();
    Note(false, waits ? "job waits for workers" : "job put back", job.id,
         waits ? result.status() : released);
  } else {
    const absl::Status kept =
        Settle(running, Outcome(std::move(result), was_cancelled));
    Note(!kept.ok(), "job ended", job.id, kept);
  }
  options_.on_change(job.id);
}

// Tries until the store has accepted the outcome or the job is lost.
absl::Status JobRunner::Settle(const Running& running, Job outcome) {
  const MutexLock lock(mutex_);
  while (true) {
    const JobLease lease = running.lease;
    absl::Status status;
    {
      const MutexUnlock unlock(mutex_);
      status = store_.Finish(lease, outcome);
    }
    if (absl::IsFailedPrecondition(status)) {
      AwaitClaims();
      if (running.lease != lease) continue;
      return status;
    }
    if (status.ok()) return status;
    if (stopping_ || running.is_lost) return status;
    if (!MayPass(status)) {
      if (outcome.state == JobState::kFailed) return status;
      outcome = {.state = JobState::kFailed, .error = status};
    }
    changed_.WaitFor(mutex_, Seconds(options_.poll_interval_s),
                     [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                       return stopping_ || running.is_lost;
                     });
  }
}

Job JobRunner::Outcome(absl::StatusOr<std::string> result, bool was_cancelled) {
  if (result.ok()) {
    return {.state = JobState::kSucceeded, .result = *std::move(result)};
  }
  if (was_cancelled) return {.state = JobState::kCancelled};
  return {.state = JobState::kFailed, .error = result.status()};
}

void JobRunner::Note(bool is_warning, const char* what,
                     const std::string& job_id,
                     const absl::Status& status) const {
  options_.on_note({.is_warning = is_warning,
                    .what = what,
                    .job_id = job_id,
                    .detail = status.ok() ? "" : status.ToString()});
}

}  // namespace tangram
