#ifndef TANGRAM_COMMON_DOMAIN_CLUSTER_H_
#define TANGRAM_COMMON_DOMAIN_CLUSTER_H_

#include <string>
#include <vector>

#include "common/domain/device.h"

namespace tangram {

// A communication path. Bandwidths are per direction.
//
// Inside a node: `bandwidth` is the rate of each GPU while all GPUs of the node
// communicate. `pair_bandwidth` is the rate between two GPUs alone. NVLink
// bridges join pairs, so on some cards it is several times higher. Between two
// nodes: `bandwidth` is the rate of the whole node, shared by its GPUs.
// `pair_bandwidth` is the rate from one GPU to one other, at most `bandwidth`.
struct Link {
  double bandwidth_bytes_per_s = 0;
  double pair_bandwidth_bytes_per_s = 0;
  double latency_s = 0;
  bool operator==(const Link&) const = default;
};

struct Node {
  std::string name;  // Unique in the cluster.
  int group = 0;     // Index into Cluster::groups.
  int num_gpus = 0;
  DeviceSpec device;
  Link intra_node;
};

// A field that the user did not give, with the source of its value.
struct Assumption {
  std::string field;   // "groups[0].memory"
  std::string value;   // "16 GB"
  std::string source;  // "catalogue: T4"
  bool operator==(const Assumption&) const = default;
};

// Nodes with the links between them. Nodes of one group are identical and have
// the same links. A node with its own links is a group of one.
struct Cluster {
  std::string name;
  std::vector<std::string> groups;
  std::vector<Node> nodes;
  // links[a][b]: from a node of group a to another node of group b. Need not
  // be symmetric. links[a][a] joins two different nodes of group a.
  std::vector<std::vector<Link>> links;
  std::vector<Assumption> assumptions;

  int num_gpus() const;
  const Link& LinkBetween(int from_node, int to_node) const {
    return links[nodes[from_node].group][nodes[to_node].group];
  }
};

// One GPU: a node of the cluster and the index inside that node.
struct GpuId {
  int node = 0;
  int index = 0;
  auto operator<=>(const GpuId&) const = default;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_CLUSTER_H_
