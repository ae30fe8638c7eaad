#include "common/domain/measurements.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace tangram {

absl::string_view CollectiveName(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllReduce:
      return "all_reduce";
    case CollectiveOp::kAllGather:
      return "all_gather";
    case CollectiveOp::kReduceScatter:
      return "reduce_scatter";
    case CollectiveOp::kAllToAll:
      return "all_to_all";
    case CollectiveOp::kPointToPoint:
      return "p2p";
  }
  return "";
}

bool ComesBefore(const MeasuredLayer& a, const MeasuredLayer& b) {
  return std::tie(a.key, a.samples) < std::tie(b.key, b.samples);
}

bool ComesBefore(const MeasuredCollective& a, const MeasuredCollective& b) {
  return std::tie(a.op, a.ranks, a.nodes) < std::tie(b.op, b.ranks, b.nodes);
}

const MeasuredCollective* FindCollective(
    absl::Span<const MeasuredCollective> tables, CollectiveOp op, int ranks,
    int nodes) {
  for (const MeasuredCollective& table : tables) {
    if (table.op == op && table.ranks == ranks && table.nodes == nodes) {
      return &table;
    }
  }
  return nullptr;
}

// Interpolates between the points a and b around `bytes` as a power law:
//   t = t_a · (bytes / a)^e, e = ln(t_b / t_a) / ln(b / a).
double SecondsOf(const MeasuredCollective& table, double bytes) {
  const CollectivePoint& first = table.points.front();
  const CollectivePoint& last = table.points.back();
  if (bytes <= first.bytes) return first.seconds;
  if (bytes >= last.bytes) return last.seconds * (bytes / last.bytes);
  const auto upper = std::upper_bound(
      table.points.begin(), table.points.end(), bytes,
      [](double b, const CollectivePoint& point) { return b < point.bytes; });
  const CollectivePoint& a = *(upper - 1);
  const CollectivePoint& b = *upper;
  const double exponent =
      std::log(b.seconds / a.seconds) / std::log(b.bytes / a.bytes);
  return a.seconds * std::pow(bytes / a.bytes, exponent);
}

}  // namespace tangram
