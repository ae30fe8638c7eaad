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

// The output of a command.
struct ClusterSource {
  std::string name;   // Name of the file, for people.
  std::string scope;  // Its nodes or groups; empty: the text tells.
  std::string text;
  std::optional<InventoryFormat> format;  // Empty: detected from the text.
};

// The user's own cluster file, whole or partial.
struct OwnCluster {
  std::string name;
  std::string text;
  std::string folder;  // Paths of profiles are relative to it.
};

struct ClusterImportOptions {
  std::string name = "cluster";  // Without control characters.
  // GPU types by inventory name or by hostlist of nodes.
  std::map<std::string, std::string> gpu_types;
  std::string nodes;                    // A hostlist; empty: all.
  std::vector<std::string> partitions;  // Empty: all.
  bool free_gpus_only = false;
  bool flat = false;  // Do not split groups by switch or zone.
  std::optional<OwnCluster> own;
};

struct ImportedCluster {
  std::string yaml;  // A cluster file; comments name the source of each value.
  Cluster cluster;   // The cluster read from it, with its assumptions.
  std::vector<SkippedNode> skipped;
  std::vector<std::string> notes;  // How sources were understood.
};

// Makes a cluster from what a scheduler and drivers report of its nodes. For
// each value the user's own file has priority, then measurements (nccl-tests),
// then the inventory. The device catalogue supplies the rest, as for any
// cluster file. kInvalidArgument names the source, the place in it, the value
// and what was expected. It is also returned, with the reasons, if no node is
// left.
absl::StatusOr<ImportedCluster> ImportCluster(
    absl::Span<const ClusterSource> sources,
    const ClusterImportOptions& options);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_IMPORT_CLUSTER_H_
