#include "coordinator/planners/frontier/staircase.h"

#include <algorithm>

namespace tangram {
namespace {

constexpr double kAsMuch = 1 - 1e-3;

bool DiffersOnlyIn(size_t group, const Allocation& a, const Allocation& b) {
  for (size_t g = 0; g < a.size(); ++g) {
    if (g != group && a[g] != b[g]) return false;
  }
  return true;
}

Staircase StaircaseOf(size_t group, const Allocation& base, double base_worth,
                      absl::Span<const Allocation> allocations,
                      absl::Span<const double> worths) {
  Staircase staircase;
  double best_marginal = 0;
  for (size_t i = 0; i < allocations.size(); ++i) {
    if (!DiffersOnlyIn(group, allocations[i], base)) continue;
    const int more = allocations[i][group] - base[group];
    Stair& stair = staircase.stairs.emplace_back(
        Stair{.nodes = allocations[i][group], .worth = worths[i]});
    if (more == 0) continue;
    stair.marginal = (worths[i] - base_worth) / more;
    if (more > 0 && *stair.marginal > best_marginal &&
        worths[i] * kAsMuch > base_worth) {
      best_marginal = *stair.marginal;
      staircase.best_to_buy = stair.nodes;
    }
    if (more < 0 && worths[i] >= base_worth * kAsMuch) {
      staircase.idle_nodes = std::max(staircase.idle_nodes, -more);
    }
  }
  std::sort(staircase.stairs.begin(), staircase.stairs.end(),
            [](const Stair& a, const Stair& b) { return a.nodes < b.nodes; });
  return staircase;
}

}  // namespace

std::vector<Staircase> StaircasesAround(
    const Allocation& base, absl::Span<const Allocation> allocations,
    absl::Span<const double> worths) {
  double base_worth = 0;
  for (size_t i = 0; i < allocations.size(); ++i) {
    if (allocations[i] == base) base_worth = worths[i];
  }
  std::vector<Staircase> staircases;
  for (size_t g = 0; g < base.size(); ++g) {
    staircases.push_back(StaircaseOf(g, base, base_worth, allocations, worths));
  }
  return staircases;
}

}  // namespace tangram
