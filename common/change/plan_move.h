#ifndef TANGRAM_COMMON_CHANGE_PLAN_MOVE_H_
#define TANGRAM_COMMON_CHANGE_PLAN_MOVE_H_

#include <set>
#include <string>
#include <vector>

#include "common/change/held_state.h"
#include "common/domain/cluster.h"

namespace tangram {

// The bytes that the GPUs of one node keep, get and give when a plan is
// replaced.
struct NodeMove {
  std::string node;
  double kept_bytes = 0;         // On the GPUs that need them.
  double from_inside_bytes = 0;  // From other GPUs of the node.
  double in_bytes = 0;           // From other nodes.
  double out_bytes = 0;          // To other nodes.
  double checkpoint_bytes = 0;   // State that no GPU holds any more.
};

// Bytes from one node to another.
struct NodeTransfer {
  std::string from;
  std::string to;
  double bytes = 0;
};

struct PlanMove {
  std::vector<NodeMove> nodes;  // By name.
  std::vector<NodeTransfer> transfers;
  double needed_bytes = 0;  // State that the new plan holds.
  double kept_bytes = 0;
  double moved_bytes = 0;  // From other GPUs.
  double checkpoint_bytes = 0;
  // A lower bound on the time of the transfers between GPUs. Each node takes at
  // least the time of its bytes in or out over its links, and of its busiest
  // GPU's bytes inside it. Reading a checkpoint does not count.
  double seconds = 0;

  bool loses_state() const { return checkpoint_bytes > 0; }
};

// A plan's state with the cluster that it runs on.
struct PlacedState {
  const HeldState& held;
  const Cluster& cluster;
};

// Returns what each GPU of the new plan must fetch, and from whom: from a GPU
// of its node if one holds the part, else from another node, else from the
// checkpoint; of several, from the one that has sent the least so far. A GPU
// that has fetched a part holds it from then on, so that replicas fetch it from
// each other: a node gets it once, and the checkpoint is read once. GPUs are
// the same if node and index are. `lost` nodes hold nothing of the old plan any
// more. O(parts log parts + segments x holders).
PlanMove MoveBetween(const PlacedState& before, const PlacedState& after,
                     const std::set<std::string>& lost);

}  // namespace tangram

#endif  // TANGRAM_COMMON_CHANGE_PLAN_MOVE_H_
