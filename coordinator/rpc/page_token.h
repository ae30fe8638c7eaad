#ifndef TANGRAM_COORDINATOR_RPC_PAGE_TOKEN_H_
#define TANGRAM_COORDINATOR_RPC_PAGE_TOKEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/store/job_store.h"

namespace tangram {

// Returns a place in a list as text. `query` stands for what is listed, and the
// token is of no use for anything else. It tells a caller nothing but what the
// last job of the page told already.
std::string PageTokenOf(const JobCursor& cursor, absl::string_view query);

// Returns kInvalidArgument for a token that is none, or of another query.
absl::StatusOr<JobCursor> ParsePageToken(absl::string_view token,
                                         absl::string_view query);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_PAGE_TOKEN_H_
