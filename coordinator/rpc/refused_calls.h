#ifndef TANGRAM_COORDINATOR_RPC_REFUSED_CALLS_H_
#define TANGRAM_COORDINATOR_RPC_REFUSED_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/obs/audit_log.h"
#include "common/sync/mutex.h"

namespace tangram {

// Folds calls that are refused for who calls or because there is no such
// method, so that callers without a token cannot fill the record and push out
// the calls of others. The first of each kind (method, code and caller) is
// recorded at once; those that follow are counted, and once a minute one record
// has their number and the peer of the last. Callers choose paths: those that
// are no method are "unknown". Kinds beyond kMaxKinds in a minute are folded as
// "others". Thread-safe.
class RefusedCalls {
 public:
  static constexpr size_t kMaxKinds = 100;

  RefusedCalls(OnAuditedCall record, std::function<double()> now_s)
      : record_(std::move(record)), now_s_(std::move(now_s)) {}
  // Records what it has counted.
  ~RefusedCalls();

  // Records a call, or counts it if it was refused. Then its method may be any
  // text, and its target is left out.
  void Take(AuditedCall call);
  // Records what was counted in minutes that have ended.
  void Tick();

 private:
  struct Fold {
    double recorded_s;
    AuditedCall last;
    int64_t count = 0;  // Since the last record.
  };

  void Record(Fold& fold, double now_s) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const OnAuditedCall record_;
  const std::function<double()> now_s_;
  Mutex mutex_;
  std::map<std::string, Fold> folds_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_REFUSED_CALLS_H_
