#include "worker/adapters/process/adapter_pool.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/obs/clocks.h"
#include "common/obs/log.h"

namespace tangram {
namespace {

// Interval at which a wait checks whether it should go on, as in
// adapter_process.cc.
constexpr std::chrono::milliseconds kIdlePollInterval(20);

std::string Text(const AdapterId& id) {
  return absl::StrCat(id.name, " ", id.version);
}

// Puts the adapter's name in front of an error. Keeps the codes that an adapter
// may return itself; every other error is the adapter's fault, kInternal.
absl::Status Blame(const std::string& adapter, const absl::Status& status) {
  if (status.ok()) return status;
  const bool is_its_own =
      absl::IsInvalidArgument(status) || absl::IsUnimplemented(status);
  return absl::Status(is_its_own ? status.code() : absl::StatusCode::kInternal,
                      absl::StrCat(adapter, ": ", status.message()));
}

}  // namespace

AdapterPool::AdapterPool(ProcessOptions options)
    : options_(std::move(options)) {}

absl::StatusOr<std::unique_ptr<AdapterPool>> AdapterPool::Create(
    ProcessOptions options) {
  const std::string command = options.command;
  std::unique_ptr<AdapterPool> pool(new AdapterPool(std::move(options)));
  absl::StatusOr<std::unique_ptr<AdapterProcess>> process =
      AdapterProcess::Start(pool->options_, nullptr);
  if (!process.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "exec:", command, ": not an adapter: ", process.status().message()));
  }
  pool->info_ = (*process)->info();
  pool->Return(*std::move(process));
  return pool;
}

// Asks twice at most. An adapter that times out is not asked again.
absl::Status AdapterPool::Ask(Question question,
                              const ShouldStop& should_stop) {
  std::string deaths;
  // One death may be another process's fault (memory, an upgrade); a second one
  // is the question's.
  constexpr int kAttempts = 2;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    absl::StatusOr<std::unique_ptr<AdapterProcess>> process = Take(should_stop);
    CallResult result = {.end = CallEnd::kDied, .status = process.status()};
    if (absl::IsCancelled(result.status)) return result.status;
    if (process.ok()) result = question(**process);
    switch (result.end) {
      case CallEnd::kAnswered:
        Return(*std::move(process));
        return Blame(info_.id.name, result.status);
      case CallEnd::kStopped:
        return result.status;
      case CallEnd::kTimedOut:
        return Blame(info_.id.name, OnDeath(result.status));
      case CallEnd::kDied:
        absl::StrAppend(&deaths, deaths.empty() ? "" : "; asked again: ",
                        OnDeath(result.status).message());
    }
  }
  return Blame(info_.id.name, absl::InternalError(deaths));
}

// A restarted program must be the same adapter: the coordinator knows its name,
// version and features.
absl::StatusOr<std::unique_ptr<AdapterProcess>> AdapterPool::Take(
    const ShouldStop& should_stop) {
  {
    const MutexLock lock(mutex_);
    while (!idle_.empty()) {
      std::unique_ptr<AdapterProcess> process = std::move(idle_.back());
      idle_.pop_back();
      if (process->IsAlive()) return process;
    }
  }
  TANGRAM_RETURN_IF_ERROR(AwaitTurn(should_stop));
  TANGRAM_ASSIGN_OR_RETURN(std::unique_ptr<AdapterProcess> process,
                           AdapterProcess::Start(options_, should_stop));
  const AdapterInfo& started = process->info();
  if (started.id == info_.id && started.features == info_.features) {
    return process;
  }
  return absl::InternalError(
      absl::StrCat("the program is now ", Text(started.id), ", not ",
                   Text(info_.id), ": restart the worker"));
}

// Waits until the pause after the last death is over.
absl::Status AdapterPool::AwaitTurn(const ShouldStop& should_stop) {
  const MutexLock lock(mutex_);
  while (Clock::now() < next_start_) {
    const MutexUnlock unlock(mutex_);
    if (should_stop && should_stop()) return absl::CancelledError("stopped");
    std::this_thread::sleep_for(kIdlePollInterval);
  }
  return absl::OkStatus();
}

void AdapterPool::Return(std::unique_ptr<AdapterProcess> process) {
  const MutexLock lock(mutex_);
  idle_.push_back(std::move(process));
  backoff_s_ = 0;
}

// Doubles the pause before the next start and logs the death.
absl::Status AdapterPool::OnDeath(const absl::Status& death) {
  const MutexLock lock(mutex_);
  backoff_s_ = std::min(std::max(2 * backoff_s_, options_.min_backoff_s),
                        options_.max_backoff_s);
  next_start_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(backoff_s_));
  if (const auto times = deaths_.Note(SteadySeconds()); times.has_value()) {
    Log(LogLevel::kWarning, "adapter died",
        {{"adapter", info_.id.name},
         {"how", death.message()},
         {"restart_in_s", backoff_s_},
         {"times", *times}});
  }
  return death;
}

}  // namespace tangram
