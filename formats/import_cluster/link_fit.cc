#include "formats/import_cluster/link_fit.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

// Sizes needed to fit bandwidth and latency; with fewer only a bandwidth.
constexpr int kMinSizes = 3;

// Bus bandwidth over bytes/s of the collective, as nccl-tests define it.

double BusFactor(CollectiveOp op, int ranks) {
  if (op == CollectiveOp::kPointToPoint) return 1;
  const double once = (ranks - 1.0) / ranks;
  return op == CollectiveOp::kAllReduce ? 2 * once : once;
}

// Latencies that the cost model counts in a collective: ⌈log2 ranks⌉, twice for
// an all-reduce.
int Hops(CollectiveOp op, int ranks) {
  if (op == CollectiveOp::kPointToPoint) return 1;
  const int depth = std::bit_width(static_cast<uint32_t>(ranks - 1));
  return op == CollectiveOp::kAllReduce ? 2 * depth : depth;
}

struct Line {
  double start_s = 0;
  double seconds_per_byte = 0;
};

// Fits seconds = start + slope · bytes by least squares, weighted with
// w_i = 1 / seconds_i², which minimises relative errors:
//   slope = (Σw Σwxy − Σwx Σwy) / (Σw Σwx² − (Σwx)²)
//   start = (Σwy − slope Σwx) / Σw
// Empty unless both are positive.
std::optional<Line> FitLine(const std::vector<CollectivePoint>& points) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (const CollectivePoint& point : points) {
    const double weight = 1 / (point.seconds * point.seconds);
    w += weight;
    wx += weight * point.bytes;
    wy += weight * point.seconds;
    wxx += weight * point.bytes * point.bytes;
    wxy += weight * point.bytes * point.seconds;
  }
  const double spread = w * wxx - wx * wx;
  if (!(spread > 0)) return std::nullopt;
  const double slope = (w * wxy - wx * wy) / spread;
  const double start = (wy - slope * wx) / w;
  if (!(slope > 0) || !(start > 0)) return std::nullopt;
  return Line{start, slope};
}

double BestBusBandwidth(const NcclRun& run, double factor) {
  double best = 0;
  for (const CollectivePoint& point : run.points) {
    best = std::max(best, point.bytes * factor / point.seconds);
  }
  return best;
}

absl::Status Check(const NcclRun& run, int ranks) {
  if (run.points.empty()) {
    return absl::InvalidArgumentError(
        "no times; expected the output of an nccl-tests program");
  }
  if (!run.op.has_value()) {
    return absl::InvalidArgumentError(
        "does not say which collective it is; expected a file name with "
        "all_reduce, all_gather, reduce_scatter or sendrecv");
  }
  if (ranks < 2) {
    return absl::InvalidArgumentError("one rank; expected at least 2");
  }
  if (run.op == CollectiveOp::kAllToAll && run.hosts.size() > 1) {
    return absl::InvalidArgumentError(
        "all-to-all between nodes uses links inside them too; expected "
        "all_reduce, all_gather, reduce_scatter or sendrecv");
  }
  if (run.op == CollectiveOp::kPointToPoint && ranks != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        ranks, " ranks send in a ring; expected sendrecv of one pair"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FittedLink> FitLink(const NcclRun& run) {
  const int ranks =
      run.num_ranks > 0 ? run.num_ranks : RanksFromBandwidths(run);
  if (const absl::Status status = Check(run, ranks); !status.ok()) {
    return status;
  }
  FittedLink link{.ranks = ranks,
                  .nodes = static_cast<int>(run.hosts.size()),
                  .num_sizes = static_cast<int>(run.points.size())};
  const double factor = BusFactor(*run.op, ranks);
  const std::optional<Line> line = FitLine(run.points);
  if (link.num_sizes >= kMinSizes && line.has_value()) {
    link.bandwidth_bytes_per_s = factor / line->seconds_per_byte;
    link.latency_s = line->start_s / Hops(*run.op, ranks);
  } else {
    link.bandwidth_bytes_per_s = BestBusBandwidth(run, factor);
  }
  link.what = absl::StrCat(CollectiveName(*run.op), " over ", ranks, " GPUs");
  if (link.nodes > 1) absl::StrAppend(&link.what, " of ", link.nodes, " nodes");
  absl::StrAppend(&link.what, ", ", link.num_sizes,
                  link.num_sizes == 1 ? " size" : " sizes");
  return link;
}

}  // namespace tangram
