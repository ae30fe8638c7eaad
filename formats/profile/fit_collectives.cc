#include "formats/profile/fit_collectives.h"

#include <utility>
#include <vector>

namespace tangram {
namespace {

// Pairs with much more bandwidth than the node have bridges, and a node that
// gives groups more than pairs is a mesh. Neither is a bus.
bool SharesOneBus(const Link& link) {
  // PCIe nodes without bridges have ratios of 1.3 to 1.7
  // (formats/catalogue/devices.yaml).
  constexpr double kMostForPair = 2;
  const double all = link.bandwidth_bytes_per_s;
  const double pair = link.pair_bandwidth_bytes_per_s;
  return all < pair && pair <= kMostForPair * all;
}

// Share of the data that one rank of a ring sends: (n - 1) / n.
double RingShare(int ranks) { return (ranks - 1.0) / ranks; }

// Replaces the times that are not between 1 and 2 times the time of the same
// ring traffic over the whole node.
void Fit(const MeasuredCollective& whole_node, MeasuredCollective& table) {
  // As kMostForPair: a group lies between a pair and all GPUs.
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
  if (node.device.collectives.empty()) return;
  std::vector<MeasuredCollective> tables = node.device.collectives.list();
  for (MeasuredCollective& table : tables) {
    const bool smaller = table.op != CollectiveOp::kPointToPoint &&
                         table.nodes == 1 && table.ranks > 1 &&
                         table.ranks < node.num_gpus;
    if (!smaller) continue;
    const MeasuredCollective* whole_node =
        FindCollective(tables, table.op, node.num_gpus, 1);
    if (whole_node != nullptr) Fit(*whole_node, table);
  }
  node.device.collectives = std::move(tables);
}

}  // namespace tangram
