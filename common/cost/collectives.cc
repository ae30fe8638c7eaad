#include "common/cost/collectives.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tangram {
namespace {

// Returns the rate of each rank inside a node. Two GPUs never get more than
// they would alone. Two neighbouring GPUs get that even while all pairs
// communicate, because each pair has its own bridge.
double IntraNodeRate(const CommGroup& group, const Link& link) {
  if (group.ranks_per_node != 2) return link.bandwidth_bytes_per_s;
  return group.adjacent ? link.pair_bandwidth_bytes_per_s
                        : std::min(link.bandwidth_bytes_per_s,
                                   link.pair_bandwidth_bytes_per_s);
}

// Returns a group's rate on its node's network: its share of the node's total,
// and at most what its ranks in the node can drive.
double InterNodeRate(const CommGroup& group, const Link& link) {
  return std::min(link.bandwidth_bytes_per_s / group.groups_per_node,
                  link.pair_bandwidth_bytes_per_s * group.ranks_per_node);
}

// A ring runs at the rate of its slowest link.
double RingRate(const CommGroup& group, const StageWiring& wiring) {
  const double intra = group.ranks_per_node > 1
                           ? IntraNodeRate(group, wiring.intra_node)
                           : InterNodeRate(group, wiring.inter_node);
  if (!SpansNodes(group)) return intra;
  return std::min(intra, InterNodeRate(group, wiring.inter_node));
}

// Returns the α of one sweep over the group: latency times the depth of a
// binary tree of its ranks, ⌈log2 n⌉.
double SweepLatency(const CommGroup& group, const StageWiring& wiring) {
  const int depth = std::bit_width(static_cast<uint32_t>(group.size - 1));
  return depth * (SpansNodes(group) ? wiring.inter_node.latency_s
                                    : wiring.intra_node.latency_s);
}

// Returns the time of one pass round the ring, which moves (n-1)/n of the
// bytes:
//   latency + bytes · (n - 1) / (n · rate)
double RingSweepSeconds(double bytes, const CommGroup& group,
                        const StageWiring& wiring) {
  if (group.size <= 1 || bytes <= 0) return 0;
  const double n = group.size;
  return SweepLatency(group, wiring) +
         bytes * (n - 1) / (n * RingRate(group, wiring));
}

// Looks up a measured table. A group of several nodes has one only if no other
// group shares its network.
const MeasuredCollective* FindMeasured(CollectiveOp op, const CommGroup& group,
                                       const StageWiring& wiring) {
  if (wiring.measured.empty()) return nullptr;
  if (SpansNodes(group) && group.groups_per_node > 1) return nullptr;
  if (group.size % group.ranks_per_node != 0) return nullptr;
  return FindCollective(wiring.measured, op, group.size,
                        group.size / group.ranks_per_node);
}

// Returns the measured time, or `modelled_s` without a measurement.
double MeasuredOr(CollectiveOp op, double bytes, const CommGroup& group,
                  const StageWiring& wiring, double modelled_s) {
  if (group.size <= 1 || bytes <= 0) return 0;
  const MeasuredCollective* table = FindMeasured(op, group, wiring);
  return table == nullptr ? modelled_s : SecondsOf(*table, bytes);
}

// Pairs inside a node slow each other down if the node's link is slower for all
// pairs than for one. Pairs between nodes share the network.
double MeasuredTransferSeconds(double bytes, const TransferPath& path,
                               const MeasuredCollective& table) {
  const double all = path.link.bandwidth_bytes_per_s;
  const double pair = path.link.pair_bandwidth_bytes_per_s;
  const double one_flow_s = SecondsOf(table, bytes / path.flows);
  if (path.same_node) {
    const bool slowed = path.flows > 1 && all < pair && all > 0;
    return slowed ? one_flow_s * (pair / all) : one_flow_s;
  }
  return std::max(one_flow_s,
                  path.link.latency_s + bytes / (path.node_pairs * all));
}

}  // namespace

StageWiring WiringOf(const IslandSpec& island, int num_gpus) {
  return {.gpus_per_node = std::min(num_gpus, island.gpus_per_node),
          .intra_node = island.intra_node,
          .inter_node = island.inter_node,
          .measured = island.device.collectives};
}

CommGroup GroupOf(int size, int stride, const StageWiring& wiring) {
  if (size <= 1) return {};
  const int in_node = std::max(1, wiring.gpus_per_node / stride);
  const int ranks_per_node = std::min(size, in_node);
  return {.size = size,
          .ranks_per_node = ranks_per_node,
          .groups_per_node = std::max(1, wiring.gpus_per_node / ranks_per_node),
          .adjacent = stride == 1};
}

double AllReduceSeconds(double bytes, const CommGroup& group,
                        const StageWiring& wiring) {
  return MeasuredOr(CollectiveOp::kAllReduce, bytes, group, wiring,
                    2 * RingSweepSeconds(bytes, group, wiring));
}

double AllGatherSeconds(double bytes, const CommGroup& group,
                        const StageWiring& wiring) {
  return MeasuredOr(CollectiveOp::kAllGather, bytes, group, wiring,
                    RingSweepSeconds(bytes, group, wiring));
}

double ReduceScatterSeconds(double bytes, const CommGroup& group,
                            const StageWiring& wiring) {
  return MeasuredOr(CollectiveOp::kReduceScatter, bytes, group, wiring,
                    RingSweepSeconds(bytes, group, wiring));
}

// Traffic inside the node and between nodes runs at the same time:
//   latency + max(bytes · (r - 1) / (n · intra),
//                 bytes · (n - r) / (n · inter / r))
// with r ranks in a node.
double AllToAllSeconds(double bytes, const CommGroup& group,
                       const StageWiring& wiring) {
  if (group.size <= 1 || bytes <= 0) return 0;
  const double n = group.size;
  const double inside = group.ranks_per_node;
  double seconds = 0;
  if (inside > 1) {
    seconds =
        bytes * (inside - 1) / (n * IntraNodeRate(group, wiring.intra_node));
  }
  if (SpansNodes(group)) {
    const double rank_rate = InterNodeRate(group, wiring.inter_node) / inside;
    seconds = std::max(seconds, bytes * (n - inside) / (n * rank_rate));
  }
  return MeasuredOr(CollectiveOp::kAllToAll, bytes, group, wiring,
                    SweepLatency(group, wiring) + seconds);
}

// Inside a node, `flows` pairs share the link but always get at least one
// pair's rate. Between nodes, they share the network of node_pairs nodes.
double TransferSeconds(double bytes, const TransferPath& path) {
  if (bytes <= 0) return 0;
  const Link& link = path.link;
  const double all = link.bandwidth_bytes_per_s;
  const double pair = link.pair_bandwidth_bytes_per_s;
  if (!path.measured.empty()) {
    const MeasuredCollective* table = FindCollective(
        path.measured, CollectiveOp::kPointToPoint, 2, path.same_node ? 1 : 2);
    if (table != nullptr) return MeasuredTransferSeconds(bytes, path, *table);
  }
  const double rate = path.same_node
                          ? std::max(pair, path.flows * std::min(all, pair))
                          : std::min(path.node_pairs * all, path.flows * pair);
  return link.latency_s + bytes / rate;
}

TransferPath PathWithin(const IslandSpec& island, int from_gpu, int from_count,
                        int to_gpu, int to_count) {
  const int per_node = island.gpus_per_node;
  const int flows = std::min(from_count, to_count);
  const int from_first = from_gpu / per_node;
  const int from_last = (from_gpu + from_count - 1) / per_node;
  const int to_first = to_gpu / per_node;
  const int to_last = (to_gpu + to_count - 1) / per_node;
  if (std::min(from_first, to_first) == std::max(from_last, to_last)) {
    return {.link = island.intra_node,
            .same_node = true,
            .flows = flows,
            .measured = island.device.collectives};
  }
  return {
      .link = island.inter_node,
      .flows = flows,
      .node_pairs = std::min(from_last - from_first, to_last - to_first) + 1,
      .measured = island.device.collectives};
}

}  // namespace tangram
