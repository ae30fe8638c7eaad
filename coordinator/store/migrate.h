#ifndef TANGRAM_COORDINATOR_STORE_MIGRATE_H_
#define TANGRAM_COORDINATOR_STORE_MIGRATE_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "coordinator/store/sql_database.h"

namespace tangram {

// Brings the tables called `name` to the newest version by running the missing
// steps. steps[i] is a script that makes version i + 1 from version i. Several
// processes may call this at once. Returns the version found; 0: there were no
// tables. Returns kFailedPrecondition if a later version of the program made
// the tables. `after`, called with the version found, runs in the same
// transaction.
absl::StatusOr<int64_t> Migrate(SqlDatabase& database, const std::string& name,
                                absl::Span<const std::string> steps,
                                absl::FunctionRef<absl::Status(int64_t)> after);
absl::StatusOr<int64_t> Migrate(SqlDatabase& database, const std::string& name,
                                absl::Span<const std::string> steps);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_MIGRATE_H_
