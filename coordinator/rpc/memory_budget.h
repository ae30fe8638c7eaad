#ifndef TANGRAM_COORDINATOR_RPC_MEMORY_BUDGET_H_
#define TANGRAM_COORDINATOR_RPC_MEMORY_BUDGET_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/sync/mutex.h"

namespace tangram {

// The memory that the requests of all callers may take at a time. Thread-safe.
class MemoryBudget {
 public:
  // `max_of_tenant` is the part of one tenant. 0: no limit.
  explicit MemoryBudget(int64_t max_bytes, int64_t max_of_tenant = 0)
      : max_bytes_(max_bytes), max_of_tenant_(max_of_tenant) {}

  // A part of the budget, until it is destroyed. The budget must outlive it.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)),
          tenant_(std::move(other.tenant_)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(tenant_, other.tenant_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Share();

    // Changes the size. If the budget has no room for it, the share keeps its
    // size, and the error is that of Take.
    absl::Status Resize(int64_t bytes);

   private:
    friend class MemoryBudget;
    Share(MemoryBudget& budget, const std::string& tenant, int64_t bytes)
        : budget_(&budget), tenant_(tenant), bytes_(bytes) {}

    MemoryBudget* budget_ = nullptr;
    std::string tenant_;
    int64_t bytes_ = 0;
  };

  // Returns kResourceExhausted if there is no room. The error says whether
  // there ever is.
  absl::StatusOr<Share> Take(int64_t bytes, const std::string& tenant = "");

  // Returns the most bytes of one request.
  int64_t max_bytes() const;

 private:
  // Adds `more` to the bytes in use, unless a share of `bytes` has no room.
  absl::Status Add(const std::string& tenant, int64_t more, int64_t bytes);
  // Whether a tenant may have so much more.
  bool HasRoom(const std::string& tenant, int64_t more)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t max_bytes_;
  const int64_t max_of_tenant_;
  Mutex mutex_;
  int64_t used_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Only tenants that use some.
  std::map<std::string, int64_t> used_by_tenant_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_MEMORY_BUDGET_H_
