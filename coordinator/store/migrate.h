#ifndef TANGRAM_COORDINATOR_STORE_MIGRATE_H_
#define TANGRAM_COORDINATOR_STORE_MIGRATE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "coordinator/store/sql_database.h"

namespace tangram {

// Brings the tables called `name` to the newest version, by the steps that are
// missing: steps[i] is a script that makes version i + 1 of version i. Several
// processes may do so at once. kFailedPrecondition if a later version of the
// program has been here. Returns the version that was there before; 0: none.
absl::StatusOr<int64_t> Migrate(SqlDatabase& database, const std::string& name,
                                absl::Span<const std::string> steps);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_MIGRATE_H_
