#ifndef TANGRAM_FORMATS_CONFIG_DEVICE_LIST_H_
#define TANGRAM_FORMATS_CONFIG_DEVICE_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/domain/cluster.h"
#include "common/domain/device.h"

namespace tangram {

// A GPU type with every value that a cluster file may leave out: datasheet
// peaks, efficiency constants, the usual links of its nodes, and the source of
// each value.
struct CatalogueDevice {
  DeviceSpec device;
  std::vector<std::string> aliases;  // "A100-SXM4-80GB".
  int gpus_per_node = 0;
  // Compute units of a whole GPU of AMD's, by which its parts are told. 0: not
  // known.
  int compute_units = 0;
  Link intra_node;
  Link inter_node;

  std::string source;  // Source of the datasheet figures and gpus_per_node.
  std::string intra_node_source;
  std::string inter_node_source;
  std::string host_source;
  // One source for each of EfficiencyFields(), in the same order.
  std::vector<std::string> efficiency_sources;
  // Name of the efficiency block from which its constants descend, but for the
  // general one: "ampere".
  std::string generation;
};

// Parses the devices that `text` describes, in its order; the format is in
// formats/catalogue/devices.yaml. Every value must be given with its source,
// and names and aliases must be unique, ignoring case. kInvalidArgument names
// `source_name`, field, value and what was expected.
absl::StatusOr<std::vector<CatalogueDevice>> ParseDevices(
    absl::string_view text, absl::string_view source_name);

// Parses the first efficiency block of such a text, from which all others
// descend: what a GPU has that nobody measured. It must have all constants,
// each with its source.
absl::StatusOr<DeviceEfficiency> ParseGeneralEfficiency(
    absl::string_view text, absl::string_view source_name);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_DEVICE_LIST_H_
