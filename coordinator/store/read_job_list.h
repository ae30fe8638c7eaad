#ifndef TANGRAM_COORDINATOR_STORE_READ_JOB_LIST_H_
#define TANGRAM_COORDINATOR_STORE_READ_JOB_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/store/job_store.h"
#include "coordinator/store/sql_database.h"

namespace tangram {

// The queries of JobStore::List and JobStore::Usage.
absl::StatusOr<std::vector<Job>> ReadJobList(SqlDatabase& database,
                                             const JobFilter& filter);
absl::StatusOr<TenantUsage> ReadTenantUsage(SqlDatabase& database,
                                            const std::string& tenant);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_READ_JOB_LIST_H_
