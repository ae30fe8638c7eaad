#ifndef TANGRAM_COMMON_DOMAIN_ISLAND_H_
#define TANGRAM_COMMON_DOMAIN_ISLAND_H_

#include <string>
#include <vector>

#include "common/base/fingerprint.h"
#include "common/domain/cluster.h"
#include "common/domain/device.h"
#include "common/domain/stage_limits.h"

namespace tangram {

// The view that a homogeneous parallelizer has of an island. If members differ
// within the tolerances, each field is the weakest member's.
struct IslandSpec {
  DeviceSpec device;
  int num_nodes = 0;
  int gpus_per_node = 0;
  Link intra_node;
  Link inter_node;     // Unused with one node.
  StageLimits limits;  // Limits on every stage on the island.

  int num_gpus() const { return num_nodes * gpus_per_node; }
  double memory_bytes() const { return num_gpus() * device.memory_bytes; }
  bool operator==(const IslandSpec&) const = default;
};

Fingerprint FingerprintOf(const IslandSpec& spec);

// A homogeneous set of nodes (paper §4.1) at its place in a cluster.
struct Island {
  int id = 0;              // Index in the list of islands.
  std::string name;        // "T4 x16"; for display only.
  std::vector<int> nodes;  // Indices into Cluster::nodes, by name.
  IslandSpec spec;
  std::string reason;  // Why it is apart from the islands next to it.
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_ISLAND_H_
