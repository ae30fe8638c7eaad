#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_IMPORT_CLUSTER_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_IMPORT_CLUSTER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "formats/import_cluster/cluster_draft.h"
#include "formats/import_cluster/inventory_format.h"

namespace tangram {

// What a command printed.
struct ClusterSource {
  std::string name;   // Of the file, for people.
  std::string scope;  // Nodes or groups it is of; empty: it says so itself.
  std::string text;
  std::optional<InventoryFormat> format;  // Empty: by its looks.
};

// The user's own cluster file, or a part of one.
struct OwnCluster {
  std::string name;
  std::string text;
  std::string folder;  // Profiles are relative to it.
};

struct ClusterImportOptions {
  std::string name = "cluster";
  // GPU types by what the inventory calls them, or by hostlists of nodes.
  std::map<std::string, std::string> gpu_types;
  std::string nodes;                    // A hostlist; empty: all.
  std::vector<std::string> partitions;  // Empty: all.
  bool free_gpus_only = false;
  bool flat = false;  // Switches and zones do not tell groups apart.
  std::optional<OwnCluster> own;
};

struct ImportedCluster {
  std::string yaml;  // A cluster file, with where each value is from.
  Cluster cluster;   // The same read, with what it assumes.
  std::vector<SkippedNode> skipped;
  std::vector<std::string> notes;  // What was taken for what.
};

// A cluster from what a scheduler and drivers say of its nodes. For each value
// the user's own file comes first, then what was measured (nccl-tests), then
// the inventory; the device catalogue fills the rest, as it does for any
// cluster file. kInvalidArgument naming the source, the place in it, the value
// and what was expected; also if no node is left, with the reasons.
absl::StatusOr<ImportedCluster> ImportCluster(
    absl::Span<const ClusterSource> sources,
    const ClusterImportOptions& options);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_IMPORT_CLUSTER_H_
