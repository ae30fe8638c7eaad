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

// Inside formats/import_cluster only.
namespace tangram {

// Of nodes or groups that `scope` names.
struct ScopedTopology {
  std::string source;
  std::string scope;
  GpuTopology topology;
};

struct ScopedRun {
  std::string source;
  std::string scope;
  NcclRun run;
};

// All that the sources say, each parsed.
struct Inventory {
  std::vector<std::string> notes;    // What GPUs turned out to be.
  std::vector<InventoryNode> nodes;  // Each once.
  std::vector<ScopedTopology> topologies;
  std::vector<ScopedRun> runs;
};

// What several sources say of a node is joined: drivers know types and memory
// better than schedulers, schedulers alone know what cannot be used. GPUs that
// a scheduler calls by one name are of the product that a driver or nccl-tests
// names on any node of them, unless two are named.
absl::StatusOr<Inventory> ReadSources(absl::Span<const ClusterSource> sources);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_READ_SOURCES_H_
