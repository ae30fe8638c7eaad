#include "coordinator/rpc/refused_calls.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "coordinator/auth/method_roles.h"

namespace tangram {
namespace {

// With it, 100 kinds of refused calls that never cease write some 30 MB a day.
constexpr double kIntervalS = 60;

std::string KindOf(const AuditedCall& call) {
  return absl::StrJoin({call.method, call.code, call.caller, call.tenant},
                       "\n");
}

bool IsRefusal(absl::string_view code) {
  return code == "unauthenticated" || code == "permission_denied" ||
         code == "unimplemented";
}

}  // namespace

RefusedCalls::~RefusedCalls() {
  const MutexLock lock(mutex_);
  for (auto& [kind, fold] : folds_) {
    if (fold.count > 0) Record(fold, fold.recorded_s);
  }
}

void RefusedCalls::Take(AuditedCall call) {
  if (!IsRefusal(call.code)) {
    record_(call);
    return;
  }
  if (FindMethodAccess(call.method) == nullptr) call.method = "unknown";
  call.target.clear();
  const double now_s = now_s_();
  const MutexLock lock(mutex_);
  std::string kind = KindOf(call);
  auto found = folds_.find(kind);
  if (found == folds_.end() && folds_.size() >= kMaxKinds) {
    call.method = "others";
    call.caller.clear();
    call.tenant.clear();
    kind = KindOf(call);
    found = folds_.find(kind);
  }
  if (found == folds_.end()) {
    Fold& fold = folds_[kind];
    fold.last = std::move(call);
    fold.count = 1;
    Record(fold, now_s);
    return;
  }
  Fold& fold = found->second;
  fold.last = std::move(call);
  ++fold.count;
}

void RefusedCalls::Tick() {
  const double now_s = now_s_();
  const MutexLock lock(mutex_);
  for (auto it = folds_.begin(); it != folds_.end();) {
    Fold& fold = it->second;
    if (now_s >= fold.recorded_s + kIntervalS) {
      if (fold.count == 0) {
        it = folds_.erase(it);
        continue;
      }
      Record(fold, now_s);
    }
    ++it;
  }
}

void RefusedCalls::Record(Fold& fold, double now_s) {
  fold.recorded_s = now_s;
  fold.last.times = std::exchange(fold.count, 0);
  record_(fold.last);
}

}  // namespace tangram
