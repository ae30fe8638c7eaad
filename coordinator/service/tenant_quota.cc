#include "coordinator/service/tenant_quota.h"

#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

absl::Status Exhausted(const std::string& tenant, int count,
                       absl::string_view what, absl::string_view flag) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "tenant \"", tenant, "\" has ", count, " ", what, ", as many as ", flag,
      " allows; expected to be asked again "
      "when one has ended"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<void>> TenantQuota::BeginCall(
    const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  int& calls = calls_[tenant];
  if (limits_.max_calls > 0 && calls >= limits_.max_calls) {
    return Exhausted(tenant, calls, "calls under way",
                     "--max_calls_per_tenant");
  }
  ++calls;
  return std::shared_ptr<void>(this, [tenant](void* quota) {
    static_cast<TenantQuota*>(quota)->EndCall(tenant);
  });
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

void TenantQuota::EndCall(const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  const auto it = calls_.find(tenant);
  if (--it->second == 0) calls_.erase(it);
}

}  // namespace tangram
