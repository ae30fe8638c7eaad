#include "coordinator/rpc/tenant_quota.h"

#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

absl::Status Exhausted(const std::string& tenant, int count,
                       absl::string_view what, absl::string_view flag) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "tenant \"", tenant, "\" has ", count, " ", what, ", as many as ", flag,
      " allows; ask again when one has ended"));
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
                                    int unfinished_jobs) const {
  if (limits_.max_unfinished_jobs == 0 ||
      unfinished_jobs < limits_.max_unfinished_jobs) {
    return absl::OkStatus();
  }
  return Exhausted(tenant, unfinished_jobs, "jobs that have not ended",
                   "--max_jobs_per_tenant");
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
