#include "coordinator/jobs/job_runner.h"

#include <chrono>
#include <utility>

#include "common/obs/log.h"

namespace tangram {
namespace {

using Seconds = std::chrono::duration<double>;

// Renewals within the time of a lease.
constexpr int kRenewals = 3;

void Complain(const char* what, const absl::Status& status) {
  Log(LogLevel::kWarning, what, {{"reason", status.ToString()}});
}

}  // namespace

JobRunner::JobRunner(JobStore& store, JobRunnerOptions options)
    : store_(store), options_(std::move(options)) {
  for (int i = 0; i < options_.num_threads; ++i) {
    workers_.emplace_back([this] { Work(); });
  }
  lease_thread_ = std::thread([this] { KeepLeases(); });
}

JobRunner::~JobRunner() {
  Stop(0);
  for (std::thread& worker : workers_) worker.join();
  {
    const Lock lock(mutex_);
    lease_thread_on_ = false;
    changed_.notify_all();
  }
  lease_thread_.join();
}

void JobRunner::Wake() {
  const Lock lock(mutex_);
  ++wakes_;
  changed_.notify_all();
}

bool JobRunner::Stop(double timeout_s) {
  Lock lock(mutex_);
  accepting_ = false;
  changed_.notify_all();
  const auto is_idle = [this] { return running_.empty(); };
  const bool finished = changed_.wait_for(lock, Seconds(timeout_s), is_idle);
  stopping_ = true;
  changed_.notify_all();
  changed_.wait(lock, is_idle);
  return finished;
}

int JobRunner::num_running() {
  const Lock lock(mutex_);
  return static_cast<int>(running_.size());
}

void JobRunner::Work() {
  Lock lock(mutex_);
  while (accepting_) {
    const int64_t wakes = wakes_;
    lock.unlock();
    absl::StatusOr<std::optional<Job>> job =
        store_.Claim(options_.owner, options_.lease_s);
    if (!job.ok()) Complain("jobs cannot be taken", job.status());
    lock.lock();
    // After a time without a database it may be one that runs here already.
    if (job.ok() && job->has_value() && running_.count((*job)->id) == 0) {
      Running& running = running_[(*job)->id];
      lock.unlock();
      RunJob(**job, running);
      lock.lock();
      running_.erase((*job)->id);
      changed_.notify_all();
      continue;
    }
    changed_.wait_for(lock, Seconds(options_.poll_interval_s),
                      [&] { return !accepting_ || wakes_ != wakes; });
  }
}

void JobRunner::KeepLeases() {
  Lock lock(mutex_);
  while (lease_thread_on_) {
    const int64_t wakes = wakes_;
    changed_.wait_for(lock, Seconds(options_.lease_s / kRenewals),
                      [&] { return !lease_thread_on_ || wakes_ != wakes; });
    if (running_.empty()) continue;
    lock.unlock();
    const absl::StatusOr<std::vector<Job>> held =
        store_.Renew(options_.owner, options_.lease_s);
    lock.lock();
    if (!held.ok()) {
      Complain("leases of jobs cannot be renewed", held.status());
      continue;
    }
    std::map<std::string, const Job*> by_id;
    for (const Job& job : *held) by_id[job.id] = &job;
    for (auto& [id, running] : running_) {
      const auto it = by_id.find(id);
      running.is_lost = it == by_id.end();
      running.must_stop |= running.is_lost || it->second->cancel_requested;
    }
  }
}

bool JobRunner::MustStop(const Running& running) {
  const Lock lock(mutex_);
  return stopping_ || running.must_stop;
}

void JobRunner::RunJob(const Job& job, Running& running) {
  Log(LogLevel::kInfo, "job started",
      {{"job", job.id}, {"attempt", job.attempts}});
  options_.on_change(job.id);
  const auto report = [&](std::string progress) {
    const absl::Status status =
        store_.AppendEvent(job.id, options_.owner, progress);
    // That the job is lost is learnt with the lease.
    if (!status.ok() && !absl::IsFailedPrecondition(status)) {
      Complain("progress of a job is not kept", status);
    }
    options_.on_change(job.id);
  };
  absl::StatusOr<std::string> result =
      options_.work(job, report, [&] { return MustStop(running); });

  Lock lock(mutex_);
  const bool was_cancelled = running.must_stop && !running.is_lost;
  const bool is_ended = stopping_ && !was_cancelled && !result.ok();
  lock.unlock();
  absl::Status status;
  if (is_ended) {
    status = store_.Release(job.id, options_.owner);
  } else {
    status = store_.Finish(Outcome(job, std::move(result), was_cancelled),
                           options_.owner);
  }
  Log(status.ok() ? LogLevel::kInfo : LogLevel::kWarning,
      is_ended ? "job put back" : "job ended",
      {{"job", job.id}, {"kept", status.ToString()}});
  options_.on_change(job.id);
}

Job JobRunner::Outcome(const Job& job, absl::StatusOr<std::string> result,
                       bool was_cancelled) const {
  Job outcome{.id = job.id};
  if (result.ok()) {
    outcome.state = JobState::kSucceeded;
    outcome.result = *std::move(result);
  } else if (was_cancelled) {
    outcome.state = JobState::kCancelled;
  } else {
    outcome.state = JobState::kFailed;
    outcome.error = result.status();
  }
  return outcome;
}

}  // namespace tangram
