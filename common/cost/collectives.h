#ifndef TANGRAM_COMMON_COST_COLLECTIVES_H_
#define TANGRAM_COMMON_COST_COLLECTIVES_H_

#include "common/cost/operator_cost.h"
#include "common/domain/cluster.h"

namespace tangram {

// The ranks of one communication group: `size` ranks, `ranks_per_node` of them
// in each node, while `groups_per_node` such groups share a node's links.
struct CommGroup {
  int size = 1;
  int ranks_per_node = 1;
  int groups_per_node = 1;
  // Its ranks are next to each other in the rank order. Two such ranks are what
  // a bridge joins, so they go at Link::pair_bandwidth_bytes_per_s.
  bool adjacent = false;
};

// The group of `size` ranks that are `stride` apart in the rank order of a
// stage (tp: stride 1; cp: tp; dp: tp·cp), as wired.
CommGroup GroupOf(int size, int stride, const StageWiring& wiring);

// α-β times in seconds of one collective over `bytes`: the whole tensor for
// all-reduce, all-gather (the gathered tensor) and reduce-scatter (the tensor
// before), the local tensor of one rank for all-to-all. 0 for one rank.
// Ring: all-reduce moves 2(n-1)/n of the bytes, the others (n-1)/n. A group
// that spans nodes goes at the slower of its intra-node rate and its share of
// the node's network. In an all-to-all each rank sends directly: what leaves
// the node shares the network with all ranks of the node, the rest does not.
// A measured table of that operation, number of ranks and of nodes overrides
// them: inside a node always, beyond if the group has the network for itself.
double AllReduceSeconds(double bytes, const CommGroup& group,
                        const StageWiring& wiring);
double AllGatherSeconds(double bytes, const CommGroup& group,
                        const StageWiring& wiring);
double ReduceScatterSeconds(double bytes, const CommGroup& group,
                            const StageWiring& wiring);
double AllToAllSeconds(double bytes, const CommGroup& group,
                       const StageWiring& wiring);

// A transfer between two pipeline stages: `flows` GPU pairs at a time over
// `node_pairs` pairs of nodes (1 inside a node).
struct TransferPath {
  Link link;
  bool same_node = false;
  int flows = 1;
  int node_pairs = 1;
  // Of the GPUs' device; override what one pair of GPUs gets of the link.
  // Refers to the device.
  absl::Span<const MeasuredCollective> measured;
};

double TransferSeconds(double bytes, const TransferPath& path);

// The path between two stages of one island that hold GPUs
// [from_gpu, from_gpu + from_count) and [to_gpu, to_gpu + to_count).
TransferPath PathWithin(const IslandSpec& island, int from_gpu, int from_count,
                        int to_gpu, int to_count);

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_COLLECTIVES_H_
