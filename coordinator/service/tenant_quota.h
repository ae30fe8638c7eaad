#ifndef TANGRAM_COORDINATOR_SERVICE_TENANT_QUOTA_H_
#define TANGRAM_COORDINATOR_SERVICE_TENANT_QUOTA_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tangram {

// What one tenant may have at a time; 0: any number.
struct TenantLimits {
  int max_unfinished_jobs = 0;
  int max_calls = 0;  // Plan calls, waiting or under way.
};

// Counts the calls of tenants. Thread-safe.
class TenantQuota {
 public:
  explicit TenantQuota(const TenantLimits& limits) : limits_(limits) {}

  const TenantLimits& limits() const { return limits_; }

  // kResourceExhausted if the tenant has as many calls as it may have. The call
  // counts until the handle is dropped, which the quota must outlive.
  absl::StatusOr<std::shared_ptr<void>> BeginCall(const std::string& tenant);

  // kResourceExhausted if a tenant with so many jobs may have no more.
  absl::Status CheckJobs(const std::string& tenant, int unfinished_jobs) const;

 private:
  void EndCall(const std::string& tenant);

  const TenantLimits limits_;
  std::mutex mutex_;
  std::map<std::string, int> calls_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_SERVICE_TENANT_QUOTA_H_
