#include "coordinator/rpc/memory_budget.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

constexpr char kFlag[] = "--max_requests_mb";

// Rounds up, so that a request beyond a limit never reads as within it.
int64_t Megabytes(int64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; }

}  // namespace

MemoryBudget::Share::~Share() {
  if (budget_ != nullptr) budget_->Add(-bytes_, 0).IgnoreError();
}

absl::Status MemoryBudget::Share::Resize(int64_t bytes) {
  TANGRAM_RETURN_IF_ERROR(budget_->Add(bytes - bytes_, bytes));
  bytes_ = bytes;
  return absl::OkStatus();
}

absl::StatusOr<MemoryBudget::Share> MemoryBudget::Take(int64_t bytes) {
  TANGRAM_RETURN_IF_ERROR(Add(bytes, bytes));
  return Share(*this, bytes);
}

int64_t MemoryBudget::max_bytes() const {
  return max_bytes_ > 0 ? max_bytes_ : std::numeric_limits<int64_t>::max() / 2;
}

absl::Status MemoryBudget::Add(int64_t more, int64_t bytes) {
  const MutexLock lock(mutex_);
  if (more <= 0 || used_bytes_ + more <= max_bytes()) {
    used_bytes_ += more;
    return absl::OkStatus();
  }
  if (bytes > max_bytes()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("request: takes at least ", Megabytes(bytes),
                     " MiB in memory; expected at most ", max_bytes_ >> 20,
                     " (", kFlag, ")"));
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "request: takes ", Megabytes(bytes), " MiB in memory; expected at most ",
      (max_bytes_ - used_bytes_ + bytes - more) >> 20,
      ", which the requests "
      "under way leave of ",
      max_bytes_ >> 20, " (", kFlag, "); ask again when one has ended"));
}

}  // namespace tangram
