#include "coordinator/rpc/memory_budget.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/error_details.h"

namespace tangram {
namespace {

constexpr char kFlag[] = "--max_requests_mb";
constexpr double kBusyBudgetDelayS = 2;

// Rounds up, so that a request beyond a limit never reads as within it.
int64_t Megabytes(int64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; }

}  // namespace

MemoryBudget::Share::~Share() {
  if (budget_ != nullptr) budget_->Add(tenant_, -bytes_, 0).IgnoreError();
}

absl::Status MemoryBudget::Share::Resize(int64_t bytes) {
  TANGRAM_RETURN_IF_ERROR(budget_->Add(tenant_, bytes - bytes_, bytes));
  bytes_ = bytes;
  return absl::OkStatus();
}

absl::StatusOr<MemoryBudget::Share> MemoryBudget::Take(
    int64_t bytes, const std::string& tenant) {
  TANGRAM_RETURN_IF_ERROR(Add(tenant, bytes, bytes));
  return Share(*this, tenant, bytes);
}

int64_t MemoryBudget::max_bytes() const {
  return max_bytes_ > 0 ? max_bytes_ : std::numeric_limits<int64_t>::max() / 2;
}

bool MemoryBudget::HasRoom(const std::string& tenant, int64_t more) {
  if (max_of_tenant_ == 0) return true;
  const auto used = used_by_tenant_.find(tenant);
  return (used == used_by_tenant_.end() ? 0 : used->second) + more <=
         max_of_tenant_;
}

absl::Status MemoryBudget::Add(const std::string& tenant, int64_t more,
                               int64_t bytes) {
  const MutexLock lock(mutex_);
  const bool has_room = HasRoom(tenant, more);
  if (more <= 0 || (has_room && used_bytes_ + more <= max_bytes())) {
    used_bytes_ += more;
    const auto used = used_by_tenant_.try_emplace(tenant, 0).first;
    used->second += more;
    if (used->second == 0) used_by_tenant_.erase(used);
    return absl::OkStatus();
  }
  if (!has_room) {
    const bool ever_fits = bytes <= max_of_tenant_;
    absl::Status full = absl::ResourceExhaustedError(absl::StrCat(
        "request: takes ", ever_fits ? "" : "at least ", Megabytes(bytes),
        " MiB in memory; expected at most ", max_of_tenant_ >> 20,
        " for all requests of a tenant (--max_requests_mb_per_tenant)",
        ever_fits ? "; ask again when one has ended" : ""));
    return ever_fits ? WithRetryDelay(std::move(full), kBusyBudgetDelayS)
                     : full;
  }
  if (bytes > max_bytes()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("request: takes at least ", Megabytes(bytes),
                     " MiB in memory; expected at most ", max_bytes_ >> 20,
                     " (", kFlag, ")"));
  }
  return WithRetryDelay(
      absl::ResourceExhaustedError(absl::StrCat(
          "request: takes ", Megabytes(bytes),
          " MiB in memory; expected at most ",
          (max_bytes_ - used_bytes_ + bytes - more) >> 20,
          ", which the requests "
          "under way leave of ",
          max_bytes_ >> 20, " (", kFlag, "); ask again when one has ended")),
      kBusyBudgetDelayS);
}

}  // namespace tangram
