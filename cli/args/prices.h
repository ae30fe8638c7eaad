#ifndef TANGRAM_CLI_ARGS_PRICES_H_
#define TANGRAM_CLI_ARGS_PRICES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tangram {

// Parses the value of --prices, "h100=98.3,a100=32.8": what a node of each
// group costs for an hour, in any currency. Every one of `groups` needs a
// price. Returns the prices in their order.
absl::StatusOr<std::vector<double>> ParsePrices(
    const std::string& text, absl::Span<const std::string> groups);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_PRICES_H_
