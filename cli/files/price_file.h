#ifndef TANGRAM_CLI_FILES_PRICE_FILE_H_
#define TANGRAM_CLI_FILES_PRICE_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tangram {

// A group whose nodes a file of prices may list.
struct PricedGroup {
  std::string name;    // As in the cluster, or a type of cloud instance.
  std::string device;  // Type of its GPUs; empty: unknown.
  int gpus_per_node = 0;
};

// Selects among the prices of a file.
struct PriceChoice {
  std::string region;  // Empty: the cheapest of all.
  bool spot = false;
};

// Returns the price of a node-hour of each group by a CSV text with either
//
//   group, price[, spot_price][, region]
//
// or the columns of SkyPilot's catalogues: InstanceType, AcceleratorName,
// AcceleratorCount, Region, Price, SpotPrice. There a group is the instance
// type of its name, or else any with its GPUs, as many in a node. The
// cheapest of several rows counts. `file` is for errors: kInvalidArgument
// naming the line and column, or the group without a price.
absl::StatusOr<std::vector<double>> ReadPrices(
    absl::string_view text, const std::string& file,
    absl::Span<const PricedGroup> groups, const PriceChoice& choice);

}  // namespace tangram

#endif  // TANGRAM_CLI_FILES_PRICE_FILE_H_
