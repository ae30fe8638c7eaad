#include "coordinator/planners/frontier/fronts.h"

#include <algorithm>
#include <cmath>

namespace tangram {
namespace {

bool IsNoWorse(const FrontFigures& a, const FrontFigures& b) {
  for (size_t i = 0; i < kFrontFigures; ++i) {
    if (a[i] > b[i]) return false;
  }
  return true;
}

}  // namespace

// A point comes after all that dominate it if points are in lexical order, so
// each is compared with the front so far.
std::vector<int64_t> NotDominated(
    absl::Span<const std::optional<FrontFigures>> points) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].has_value()) order.push_back(static_cast<int64_t>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return *points[a] < *points[b];
  });
  std::vector<int64_t> front;
  for (const int64_t i : order) {
    const bool is_dominated = std::any_of(
        front.begin(), front.end(),
        [&](int64_t other) { return IsNoWorse(*points[other], *points[i]); });
    if (!is_dominated) front.push_back(i);
  }
  std::sort(front.begin(), front.end());
  return front;
}

std::optional<int64_t> KneeOf(
    absl::Span<const int64_t> front,
    absl::Span<const std::optional<TimeAndPrice>> points) {
  if (front.size() < 3) return std::nullopt;
  const TimeAndPrice& first = *points[front.front()];
  const TimeAndPrice& last = *points[front.back()];
  // Prices ascend and times descend, so these are the least of both.
  if (!(first.price > 0) || !(last.seconds > 0)) return std::nullopt;
  const double times = std::log(first.seconds / last.seconds);
  const double prices = std::log(last.price / first.price);
  if (!(times > 0) || !(prices > 0)) return std::nullopt;
  std::optional<int64_t> knee;
  double farthest = 1e-9;
  for (const int64_t i : front) {
    const double below = 1 -
                         std::log(points[i]->seconds / last.seconds) / times -
                         std::log(points[i]->price / first.price) / prices;
    if (below <= farthest) continue;
    farthest = below;
    knee = i;
  }
  return knee;
}

}  // namespace tangram
