#include "coordinator/jobs/job_upkeep.h"

#include <utility>

namespace tangram {
namespace {

// Jobs that one look deletes or ends at most. So few hardly delay other calls
// of the store.
constexpr int kMostJobs = 100;

}  // namespace

JobUpkeep::JobUpkeep(JobStore& store, JobUpkeepOptions options)
    : store_(store), options_(std::move(options)) {}

void JobUpkeep::Look(int64_t num_arrivals, double now_s) {
  const absl::StatusOr<int> waiting = store_.CountWaiting();
  if (waiting.ok()) options_.on_waiting(*waiting);
  const absl::StatusOr<double> oldest_s = store_.OldestWaitingS();
  if (oldest_s.ok()) options_.on_oldest_waiting_s(*oldest_s);
  const absl::StatusOr<int> deleted = store_.Forget(options_.keep_s, kMostJobs);
  if (deleted.ok() && *deleted > 0) options_.on_deleted(*deleted);
  store_.EndOverdue(kMostJobs).IgnoreError();
  LetJobsTryAgain(num_arrivals, now_s);
}

// Jobs that wait for workers try at once when the first worker with an adapter
// comes, but not each time that one comes and goes. They try once more, as one
// may have been put back in that moment.
void JobUpkeep::LetJobsTryAgain(int64_t num_arrivals, double now_s) {
  if (num_arrivals != seen_arrivals_) tries_left_ = 2;
  seen_arrivals_ = num_arrivals;
  if (tries_left_ == 0 || now_s < let_try_s_ + kLeastTryS) return;
  if (!store_.EndDelays().ok()) return;
  --tries_left_;
  let_try_s_ = now_s;
  options_.on_due();
}

}  // namespace tangram
