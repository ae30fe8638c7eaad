#ifndef TANGRAM_CLI_PRINT_FRONTIER_JSON_H_
#define TANGRAM_CLI_PRINT_FRONTIER_JSON_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/print/frontier.h"

namespace tangram {

// The work of a frontier, for its JSON.
struct FrontierWork {
  // Slice plans that were asked for and not known. Empty: a coordinator did.
  std::optional<int64_t> slice_queries;
  int64_t from_cache = 0;  // Answers that a coordinator knew.
};

// Returns the frontier in the format tangram.frontier/v1 (docs/frontier.md).
std::string FrontierAsJson(const Frontier& frontier, const FrontierWork& work);

// Returns one allocation of it as a line, without what follows from others.
std::string FrontierPointAsLine(const Frontier& frontier,
                                const FrontierPoint& point);

// Returns the table as CSV with a header.
std::string FrontierAsCsv(const Frontier& frontier);

// Reads the answers and the groups of a frontier; prices and other terms are
// left out. `file` is for errors: kInvalidArgument naming the field.
absl::StatusOr<Frontier> FrontierFromJson(absl::string_view text,
                                          const std::string& file);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_FRONTIER_JSON_H_
