#ifndef TANGRAM_COORDINATOR_STORE_SQLITE_JOB_STORE_H_
#define TANGRAM_COORDINATOR_STORE_SQLITE_JOB_STORE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/store/job_store.h"

namespace tangram {

// Jobs in an SQLite file, which is this process's alone while it is open; made
// if there is none; leases that it holds have ended. `now_s`: seconds since 1970. kFailedPrecondition if a later
// version made the file, else the errors of SqliteDatabase::Open.
absl::StatusOr<std::unique_ptr<JobStore>> OpenSqliteJobStore(
    const std::string& path, std::function<double()> now_s);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_SQLITE_JOB_STORE_H_
