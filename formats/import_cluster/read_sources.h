#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_READ_SOURCES_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_READ_SOURCES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "formats/import_cluster/gpu_topology.h"
#include "formats/import_cluster/import_cluster.h"
#include "formats/import_cluster/inventory.h"
#include "formats/import_profile/nccl_output.h"

// Parses and joins all sources; for formats/import_cluster only.
namespace tangram {

// The wiring of the nodes or groups that `scope` names.
struct ScopedTopology {
  std::string source;
  std::string scope;
  GpuTopology topology;
};

// A run of nccl-tests on the nodes or groups that `scope` names.
struct ScopedRun {
  std::string source;
  std::string scope;
  NcclRun run;
};

// The parsed content of all sources.
struct Inventory {
  std::vector<std::string> notes;    // How the names of GPUs were resolved.
  std::vector<InventoryNode> nodes;  // Each node once.
  std::vector<ScopedTopology> topologies;
  std::vector<ScopedRun> runs;
};

// Joins the reports of several sources on a node. Drivers know types and memory
// better than schedulers; only schedulers know which nodes are unusable. GPUs
// that a scheduler calls by one name are the product that a driver or
// nccl-tests reports for them on any node, unless two products are reported.
absl::StatusOr<Inventory> ReadSources(absl::Span<const ClusterSource> sources);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_READ_SOURCES_H_
