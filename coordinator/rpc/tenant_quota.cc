#include "coordinator/rpc/tenant_quota.h"

#include "absl/strings/str_cat.h"
#include "common/wire/error_details.h"

namespace tangram {
namespace {

std::string AtLimit(const std::string& tenant, int count,
                    absl::string_view what, absl::string_view flag) {
  return absl::StrCat("tenant \"", tenant, "\" has ", count, " ", what,
                      ", as many as ", flag,
                      " allows; ask again when one has ended");
}

absl::Status Full(const std::string& tenant, absl::string_view has,
                  absl::string_view flag) {
  return absl::ResourceExhaustedError(
      absl::StrCat("tenant \"", tenant, "\" has ", has, ", as many as ", flag,
                   " allows; delete ended ones"));
}

}  // namespace

absl::Status TenantQuota::Busy(const std::string& tenant,
                               absl::string_view message) {
  return WithRetryDelay(absl::ResourceExhaustedError(message),
                        retry_times_.NextDelayS(tenant));
}

absl::StatusOr<std::shared_ptr<void>> TenantQuota::BeginCall(
    const std::string& tenant) {
  std::shared_ptr<void> call = calls_.Begin(tenant);
  if (call != nullptr) return call;
  return Busy(tenant, AtLimit(tenant, limits_.max_calls, "calls under way",
                              "--max_calls_per_tenant"));
}

absl::StatusOr<std::shared_ptr<void>> TenantQuota::BeginWatch(
    const std::string& tenant) {
  std::shared_ptr<void> watch = watches_.Begin(tenant);
  if (watch != nullptr) return watch;
  return Busy(tenant, AtLimit(tenant, limits_.max_watches, "watches under way",
                              "--max_watches_per_tenant"));
}

absl::Status TenantQuota::CheckJobs(const std::string& tenant,
                                    const TenantUsage& usage) const {
  if (limits_.max_unfinished_jobs > 0 &&
      usage.unfinished_jobs >= limits_.max_unfinished_jobs) {
    return absl::ResourceExhaustedError(AtLimit(tenant, usage.unfinished_jobs,
                                                "jobs that have not ended",
                                                "--max_jobs_per_tenant"));
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

}  // namespace tangram
