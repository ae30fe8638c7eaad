#include "coordinator/planners/frontier/lattice.h"

#include <algorithm>
#include <tuple>

#include "common/base/infinity.h"

namespace tangram {

int64_t Lattice::size() const {
  int64_t size = 1;
  for (const std::vector<int>& of_group : counts) {
    size *= static_cast<int64_t>(of_group.size());
  }
  return size;
}

std::vector<int> Lattice::At(int64_t index) const {
  std::vector<int> nodes(counts.size());
  for (size_t g = counts.size(); g-- > 0;) {
    const auto num_counts = static_cast<int64_t>(counts[g].size());
    nodes[g] = counts[g][index % num_counts];
    index /= num_counts;
  }
  return nodes;
}

// E(a) = min(T(a), min over groups g of E(a with the next lower number of g)),
// in ascending order of a.
std::vector<std::optional<EnvelopePoint>> Envelope(
    const Lattice& lattice, absl::Span<const std::optional<double>> seconds) {
  std::vector<std::optional<EnvelopePoint>> best(seconds.size());
  const auto take = [&](int64_t at, const EnvelopePoint& point) {
    const bool better = !best[at].has_value() ||
                        std::tie(point.seconds, point.index) <
                            std::tie(best[at]->seconds, best[at]->index);
    if (better) best[at] = point;
  };
  for (int64_t at = 0; at < static_cast<int64_t>(seconds.size()); ++at) {
    if (seconds[at].has_value()) take(at, {*seconds[at], at});
    int64_t stride = 1;
    for (size_t g = lattice.counts.size(); g-- > 0;) {
      const auto num_counts = static_cast<int64_t>(lattice.counts[g].size());
      const bool has_lower = at / stride % num_counts > 0;
      if (has_lower && best[at - stride].has_value()) {
        take(at, *best[at - stride]);
      }
      stride *= num_counts;
    }
  }
  return best;
}

std::vector<int64_t> ParetoFront(
    absl::Span<const std::optional<TimeAndPrice>> points) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].has_value()) order.push_back(static_cast<int64_t>(i));
  }
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::tie(points[a]->price, points[a]->seconds, a) <
           std::tie(points[b]->price, points[b]->seconds, b);
  });
  double fastest_s = kInfinity;
  std::erase_if(order, [&](int64_t i) {
    if (points[i]->seconds >= fastest_s) return true;
    fastest_s = points[i]->seconds;
    return false;
  });
  return order;
}

}  // namespace tangram
