#ifndef TANGRAM_FORMATS_CONFIG_DEVICE_LIST_H_
#define TANGRAM_FORMATS_CONFIG_DEVICE_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/domain/cluster.h"
#include "common/domain/device.h"

namespace tangram {

// A GPU type with all that a cluster file may leave out of it: datasheet
// peaks, efficiency constants, what its nodes usually look like, and where
// each of these is from.
struct CatalogueDevice {
  DeviceSpec device;
  std::vector<std::string> aliases;  // "A100-SXM4-80GB".
  int gpus_per_node = 0;
  Link intra_node;
  Link inter_node;

  std::string source;  // Of the datasheet figures and gpus_per_node.
  std::string intra_node_source;
  std::string inter_node_source;
  std::string host_source;
  // One for each of EfficiencyFields().
  std::vector<std::string> efficiency_sources;
};

// The devices that `text` describes, in its order; formats/catalogue/
// devices.yaml says how. Every value must be given, each with its source, and
// names and aliases must be unique ignoring case. kInvalidArgument naming
// `source_name`, field, value and what was expected.
absl::StatusOr<std::vector<CatalogueDevice>> ParseDevices(
    absl::string_view text, absl::string_view source_name);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_DEVICE_LIST_H_
