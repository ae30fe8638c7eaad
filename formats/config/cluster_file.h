#ifndef TANGRAM_FORMATS_CONFIG_CLUSTER_FILE_H_
#define TANGRAM_FORMATS_CONFIG_CLUSTER_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/domain/cluster.h"

namespace tangram {

// Version of the format, the key `tangram_cluster`; see docs/file-formats.md.
inline constexpr int kClusterFileVersion = 1;

// Reads a cluster from a YAML or JSON file (docs/cluster-file.md). Values that
// the file leaves out come from the device catalogue and are listed in
// Cluster::assumptions. kNotFound if there is no such file. kInvalidArgument
// names file, field, value and what was expected:
//   c1.yaml: groups[1].intra_node.bandwidth: -3; expected a positive bandwidth
//   such as "12 GB/s"
absl::StatusOr<Cluster> LoadClusterFile(const std::string& path);

// Reads a cluster from text. `source_name` stands for the file in errors. It
// also names the cluster if the text does not.
absl::StatusOr<Cluster> ParseCluster(absl::string_view text,
                                     absl::string_view source_name);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_CLUSTER_FILE_H_
