#ifndef TANGRAM_COMMON_COST_COLLECTIVES_H_
#define TANGRAM_COMMON_COST_COLLECTIVES_H_

#include "common/cost/operator_cost.h"
#include "common/domain/cluster.h"

namespace tangram {

// The ranks of one communication group.
struct CommGroup {
  int size = 1;             // Number of ranks.
  int ranks_per_node = 1;   // Ranks in each node.
  int groups_per_node = 1;  // Groups that share a node's links.
  // Whether neighbouring ranks are next to each other in the stage's rank
  // order. Two such ranks are joined by a bridge, so they communicate at
  // Link::pair_bandwidth_bytes_per_s.
  bool adjacent = false;
};

inline bool SpansNodes(const CommGroup& group) {
  return group.size > group.ranks_per_node;
}

// Returns the group of `size` ranks that are `stride` apart in the rank order
// of a stage. Strides: 1 for tp, tp for cp and ep, tp·cp for dp.
CommGroup GroupOf(int size, int stride, const StageWiring& wiring);

// Return the α-β time in seconds of one collective over `bytes`; 0 for one
// rank. `bytes` is the whole tensor for all-reduce, the gathered tensor for
// all-gather, the tensor before for reduce-scatter, and one rank's tensor for
// all-to-all.
//
// On a ring, all-reduce moves 2(n-1)/n of the bytes, all-gather and
// reduce-scatter (n-1)/n. A group that spans nodes runs at the slower of its
// intra-node rate and its share of the node's network. In an all-to-all each
// rank sends directly. Bytes that leave the node share the network with all
// ranks of the node; the others do not.
//
// A measured table of the same operation, number of ranks and number of nodes
// overrides these formulas. Between nodes, this requires that the group has the
// network for itself.
double AllReduceSeconds(double bytes, const CommGroup& group,
                        const StageWiring& wiring);
double AllGatherSeconds(double bytes, const CommGroup& group,
                        const StageWiring& wiring);
double ReduceScatterSeconds(double bytes, const CommGroup& group,
                            const StageWiring& wiring);
double AllToAllSeconds(double bytes, const CommGroup& group,
                       const StageWiring& wiring);

// A transfer between two pipeline stages.
struct TransferPath {
  Link link;
  bool same_node = false;
  int flows = 1;  // Pairs of GPUs that send at the same time.
  int node_pairs =
      1;  // Pairs of nodes between which they send; 1 inside a node.
  // Tables of the GPUs' device, which override the rate that one pair of GPUs
  // gets of the link. Refers to the device.
  absl::Span<const MeasuredCollective> measured;
};

// Returns the seconds of a transfer of `bytes` over all pairs; 0 for no bytes.
double TransferSeconds(double bytes, const TransferPath& path);

// Returns the path between two stages of one island on GPUs [from_gpu, from_gpu
// + from_count) and [to_gpu, to_gpu + to_count).
TransferPath PathWithin(const IslandSpec& island, int from_gpu, int from_count,
                        int to_gpu, int to_count);

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_COLLECTIVES_H_
