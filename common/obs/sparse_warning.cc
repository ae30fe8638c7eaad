#include "common/obs/sparse_warning.h"

#include <utility>

#include "common/obs/clocks.h"
#include "common/obs/log.h"

namespace tangram {
namespace {

// A repeated fault stays visible in a minute of the log, and takes 1,440 lines
// a day.
constexpr double kIntervalS = 60;

}  // namespace

std::optional<int64_t> SparseTimes::Note(double now_s) {
  ++count_;
  if (!IsDue(now_s)) return std::nullopt;
  last_s_ = now_s;
  return std::exchange(count_, 0);
}

bool SparseTimes::IsDue(double now_s) const {
  return !last_s_.has_value() || now_s >= *last_s_ + kIntervalS;
}

std::optional<int64_t> SparseKinds::Note(const std::string& kind) {
  const MutexLock lock(mutex_);
  const double now_s = SteadySeconds();
  if (times_.size() >= kMaxKinds && times_.count(kind) == 0) {
    std::erase_if(times_, [now_s](const auto& entry) {
      return entry.second.IsDue(now_s);
    });
    if (times_.size() >= kMaxKinds) return others_.Note(now_s);
  }
  return times_[kind].Note(now_s);
}

void SparseWarning::Tell(const std::string& reason) {
  const std::optional<int64_t> times = times_.Note("");
  if (!times.has_value()) return;
  Log(LogLevel::kWarning, what_, {{"reason", reason}, {"times", *times}});
}

}  // namespace tangram
