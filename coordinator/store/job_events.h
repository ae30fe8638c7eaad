#ifndef TANGRAM_COORDINATOR_STORE_JOB_EVENTS_H_
#define TANGRAM_COORDINATOR_STORE_JOB_EVENTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/store/job_store.h"
#include "coordinator/store/sql_database.h"

// The ends of jobs that webhooks are told of: JobStore::TakeDueEvent and
// JobStore::SettleEvent.
namespace tangram {

// Makes the end of a job due, if it has a webhook. Call it in the transaction
// that ends the job.
absl::Status MakeEventDue(SqlDatabase& database, int64_t sequence,
                          const Job& job, double now_s);
absl::StatusOr<std::optional<DueEvent>> TakeEventDue(SqlDatabase& database,
                                                     const EventTurn& turn,
                                                     double now_s);
absl::Status SettleEventOf(SqlDatabase& database, const Job& ended);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_JOB_EVENTS_H_
