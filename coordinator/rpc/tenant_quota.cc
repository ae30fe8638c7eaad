#include "coordinator/rpc/tenant_quota.h"

#include "absl/strings/str_cat.h"
#include "common/wire/error_details.h"

namespace tangram {
namespace {

absl::Status Exhausted(const std::string& tenant, int count,
                       absl::string_view what, absl::string_view flag) {
  return WithRetryDelay(
      absl::ResourceExhaustedError(absl::StrCat(
          "tenant \"", tenant, "\" has ", count, " ", what, ", as many as ",
          flag, " allows; ask again when one has ended")),
      5);
}

absl::Status Full(const std::string& tenant, absl::string_view has,
                  absl::string_view flag) {
  return absl::ResourceExhaustedError(
      absl::StrCat("tenant \"", tenant, "\" has ", has, ", as many as ", flag,
                   " allows; delete ended ones"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<void>> TenantQuota::BeginCall(
    const std::string& tenant) {
  return Begin(Kind::kCall, limits_.max_calls, tenant, "calls under way",
               "--max_calls_per_tenant");
}

absl::StatusOr<std::shared_ptr<void>> TenantQuota::BeginWatch(
    const std::string& tenant) {
  return Begin(Kind::kWatch, limits_.max_watches, tenant, "watches under way",
               "--max_watches_per_tenant");
}

absl::Status TenantQuota::CheckJobs(const std::string& tenant,
                                    const TenantUsage& usage) const {
  if (limits_.max_unfinished_jobs > 0 &&
      usage.unfinished_jobs >= limits_.max_unfinished_jobs) {
    return Exhausted(tenant, usage.unfinished_jobs, "jobs that have not ended",
                     "--max_jobs_per_tenant");
  }
  if (limits_.max_ended_jobs > 0 &&
      usage.ended_jobs >= limits_.max_ended_jobs) {
    return Full(tenant, absl::StrCat(usage.ended_jobs, " ended jobs"),
                "--max_ended_jobs_per_tenant");
  }
  if (limits_.max_stored_bytes > 0 && usage.bytes >= limits_.max_stored_bytes) {
    return Full(tenant, absl::StrCat("jobs of ", usage.bytes >> 20, " MiB"),
                "--max_stored_mb_per_tenant");
  }
  return absl::OkStatus();
}

absl::Status TenantQuota::CheckRetry(const std::string& tenant,
                                     TenantUsage usage) const {
  usage.ended_jobs = 0;
  return CheckJobs(tenant, usage);
}

absl::StatusOr<std::shared_ptr<void>> TenantQuota::Begin(
    Kind kind, int max, const std::string& tenant, absl::string_view what,
    absl::string_view flag) {
  const MutexLock lock(mutex_);
  Counts& counts = counts_[kind];
  const auto it = counts.try_emplace(tenant, 0).first;
  if (max > 0 && it->second >= max) {
    return Exhausted(tenant, it->second, what, flag);
  }
  ++it->second;
  return std::shared_ptr<void>(&counts, [this, it](void* its_counts) {
    const MutexLock end_lock(mutex_);
    if (--it->second == 0) static_cast<Counts*>(its_counts)->erase(it);
  });
}

}  // namespace tangram
