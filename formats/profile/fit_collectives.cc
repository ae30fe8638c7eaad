#include "formats/profile/fit_collectives.h"

#include <vector>

namespace tangram {
namespace {

// Pairs that get much more than the node are bridged, and a node that gives
// groups more than pairs is a mesh; a bus is neither.
bool SharesOneBus(const Link& link) {
  constexpr double kMostForPair = 2;
  const double all = link.bandwidth_bytes_per_s;
  const double pair = link.pair_bandwidth_bytes_per_s;
  return all < pair && pair <= kMostForPair * all;
}

// What one rank of a ring over `ranks` sends of each byte.
double RingShare(int ranks) { return (ranks - 1.0) / ranks; }

void Fit(const MeasuredCollective& whole_node, MeasuredCollective& table) {
  constexpr double kSlowestOnSameBus = 2;
  const double scale = RingShare(table.ranks) / RingShare(whole_node.ranks);
  for (CollectivePoint& point : table.points) {
    const double judged_s = SecondsOf(whole_node, point.bytes * scale);
    const bool plausible = point.seconds >= judged_s &&
                           point.seconds <= kSlowestOnSameBus * judged_s;
    if (!plausible) point.seconds = judged_s;
  }
}

}  // namespace

void FitCollectives(Node& node) {
  if (!SharesOneBus(node.intra_node)) return;
  std::vector<MeasuredCollective>& tables = node.device.collectives;
  for (MeasuredCollective& table : tables) {
    const bool smaller = table.op != CollectiveOp::kPointToPoint &&
                         table.nodes == 1 && table.ranks > 1 &&
                         table.ranks < node.num_gpus;
    if (!smaller) continue;
    const MeasuredCollective* whole_node =
        FindCollective(tables, table.op, node.num_gpus, 1);
    if (whole_node != nullptr) Fit(*whole_node, table);
  }
}

}  // namespace tangram
