#ifndef TANGRAM_COORDINATOR_RPC_MEMORY_BUDGET_H_
#define TANGRAM_COORDINATOR_RPC_MEMORY_BUDGET_H_

#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/sync/mutex.h"

namespace tangram {

// The memory that the requests of all callers may take at a time. Thread-safe.
class MemoryBudget {
 public:
  // 0: no limit.
  explicit MemoryBudget(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // A part of the budget, until it is destroyed. The budget must outlive it.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Share();

    // Changes the size. If the budget has no room for it, the share keeps its
    // size, and the error is that of Take.
    absl::Status Resize(int64_t bytes);

   private:
    friend class MemoryBudget;
    Share(MemoryBudget& budget, int64_t bytes)
        : budget_(&budget), bytes_(bytes) {}

    MemoryBudget* budget_ = nullptr;
    int64_t bytes_ = 0;
  };

  // Returns kResourceExhausted if there is no room. The error says whether
  // there ever is.
  absl::StatusOr<Share> Take(int64_t bytes);

  // Returns the most bytes of one request.
  int64_t max_bytes() const;

 private:
  // Adds `more` to the bytes in use, unless a share of `bytes` has no room.
  absl::Status Add(int64_t more, int64_t bytes);

  const int64_t max_bytes_;
  Mutex mutex_;
  int64_t used_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_MEMORY_BUDGET_H_
