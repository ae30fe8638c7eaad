#ifndef TANGRAM_CLI_COMMANDS_FRONTIER_TERMS_H_
#define TANGRAM_CLI_COMMANDS_FRONTIER_TERMS_H_

#include "absl/status/status.h"
#include "cli/args/options.h"
#include "cli/print/frontier.h"

namespace tangram {

// Sets the terms of a frontier, whose groups and tokens are set, by the
// options: prices, failures, power and the rest. kInvalidArgument naming the
// option.
absl::Status AddTerms(const FrontierOptions& options, Frontier& frontier);

}  // namespace tangram

#endif  // TANGRAM_CLI_COMMANDS_FRONTIER_TERMS_H_
