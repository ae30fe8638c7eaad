#ifndef TANGRAM_COORDINATOR_STORE_DELETE_JOBS_H_
#define TANGRAM_COORDINATOR_STORE_DELETE_JOBS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/store/job_tables.h"
#include "coordinator/store/sql_database.h"

namespace tangram {

// The clock of JobStore::Forget, which only goes forward, and by
// kMaxForgetStepS with each call at most. Where nobody shares it, it is written
// rarely, so that idle coordinators do not keep disks busy: a restart sets it
// back by some minutes. Not thread-safe.
class JobClock {
 public:
  // Follows `now_s`. Returns the time of this clock. It begins with the latest
  // time that is known of a job, or with `now_s` if there is no job.
  absl::StatusOr<double> Advance(SqlDatabase& database, double now_s);
  // Writes the time, before something is deleted.
  absl::Status Keep(SqlDatabase& database);

 private:
  std::optional<double> now_s_;
  double kept_s_ = 0;
};

// Deletes the jobs of JobStore::Forget at the time `clock_s`. Damaged ones end
// at `now_s` instead.
absl::StatusOr<int> ForgetJobs(SqlDatabase& database, double clock_s,
                               double now_s, double age_s, int limit,
                               OnDamage on_damage);

// Deletes a row with its events. Call it in a transaction.
absl::Status DeleteJob(SqlDatabase& database, int64_t sequence,
                       const std::string& id);

// Deletes up to `limit` jobs of a share key. Returns their number.
absl::StatusOr<int> EraseJobs(SqlDatabase& database,
                              const std::string& share_key, int limit);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_DELETE_JOBS_H_
