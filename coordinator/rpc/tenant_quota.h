#ifndef TANGRAM_COORDINATOR_RPC_TENANT_QUOTA_H_
#define TANGRAM_COORDINATOR_RPC_TENANT_QUOTA_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/jobs/retry_times.h"
#include "coordinator/rpc/keyed_count.h"
#include "coordinator/store/job_store.h"

namespace tangram {

// Limits on what one tenant may have at a time; 0: no limit.
struct TenantLimits {
  int max_unfinished_jobs = 0;
  int max_ended_jobs = 0;        // Those that are kept.
  int64_t max_stored_bytes = 0;  // Size of requests and results of jobs.
  int max_calls = 0;             // Plan calls, waiting or running.
  int max_watches = 0;           // Calls that watch a job.
};

// Counts the calls and watches of tenants. Thread-safe.
class TenantQuota {
 public:
  // `now_s` returns the seconds of a clock that never goes back.
  TenantQuota(const TenantLimits& limits, std::function<double()> now_s)
      : limits_(limits),
        calls_({.max_of_key = limits.max_calls}),
        watches_({.max_of_key = limits.max_watches}),
        retry_times_({.now_s = std::move(now_s)}) {}

  // Counts a call until the handle is dropped. The quota must outlive the
  // handle. Returns kResourceExhausted if the tenant is at its limit.
  absl::StatusOr<std::shared_ptr<void>> BeginCall(const std::string& tenant);
  absl::StatusOr<std::shared_ptr<void>> BeginWatch(const std::string& tenant);

  // Returns kResourceExhausted for a call that finds no place, with the time to
  // ask again.
  absl::Status Busy(const std::string& tenant, absl::string_view message);

  // Returns kResourceExhausted if a tenant that has so much may not submit
  // another job.
  absl::Status CheckJobs(const std::string& tenant,
                         const TenantUsage& usage) const;
  // Like CheckJobs, for an ended job that is queued again: that leaves one
  // ended job fewer, so there may be any number of them.
  absl::Status CheckRetry(const std::string& tenant, TenantUsage usage) const;
  const TenantLimits& limits() const { return limits_; }

 private:
  const TenantLimits limits_;
  KeyedCount calls_;
  KeyedCount watches_;
  RetryTimes retry_times_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_TENANT_QUOTA_H_
