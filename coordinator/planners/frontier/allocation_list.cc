#include "coordinator/planners/frontier/allocation_list.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

// The lattice of all numbers that a list has of each group.
Lattice GridOf(absl::Span<const Allocation> allocations) {
  Lattice grid;
  if (allocations.empty()) return grid;
  grid.counts.resize(allocations.front().size());
  for (size_t g = 0; g < grid.counts.size(); ++g) {
    std::vector<int>& counts = grid.counts[g];
    for (const Allocation& allocation : allocations) {
      counts.push_back(allocation[g]);
    }
    std::sort(counts.begin(), counts.end());
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  }
  return grid;
}

int64_t IndexIn(const Lattice& grid, const Allocation& allocation) {
  int64_t index = 0;
  for (size_t g = 0; g < grid.counts.size(); ++g) {
    const std::vector<int>& counts = grid.counts[g];
    const auto at =
        std::lower_bound(counts.begin(), counts.end(), allocation[g]);
    index = index * static_cast<int64_t>(counts.size()) + (at - counts.begin());
  }
  return index;
}

bool IsEmpty(const Allocation& allocation) {
  return std::all_of(allocation.begin(), allocation.end(),
                     [](int nodes) { return nodes == 0; });
}

}  // namespace

std::vector<int64_t> PlanningOrder(absl::Span<const Allocation> allocations,
                                   absl::Span<const int> gpus_of_node) {
  std::vector<std::pair<int64_t, int64_t>> by_gpus;
  for (size_t i = 0; i < allocations.size(); ++i) {
    int64_t gpus = 0;
    for (size_t g = 0; g < gpus_of_node.size(); ++g) {
      gpus += int64_t{allocations[i][g]} * gpus_of_node[g];
    }
    by_gpus.emplace_back(gpus, i);
  }
  std::sort(by_gpus.begin(), by_gpus.end());
  std::vector<int64_t> order;
  for (const auto& [gpus, index] : by_gpus) order.push_back(index);
  return order;
}

absl::StatusOr<std::vector<std::optional<EnvelopePoint>>> EnvelopeOf(
    absl::Span<const Allocation> allocations,
    absl::Span<const std::optional<double>> seconds) {
  const Lattice grid = GridOf(allocations);
  int64_t num_points = 1;
  for (const std::vector<int>& counts : grid.counts) {
    num_points *= static_cast<int64_t>(counts.size());
    if (num_points > kMaxGridPoints) {
      return absl::InvalidArgumentError(
          absl::StrCat("allocations: their numbers of nodes have more than ",
                       kMaxGridPoints, " combinations; expected fewer"));
    }
  }
  std::vector<std::optional<double>> of_grid(num_points);
  std::vector<int64_t> in_list(num_points, -1);
  for (size_t i = 0; i < allocations.size(); ++i) {
    const int64_t at = IndexIn(grid, allocations[i]);
    of_grid[at] = seconds[i];
    in_list[at] = static_cast<int64_t>(i);
  }
  const std::vector<std::optional<EnvelopePoint>> envelope =
      Envelope(grid, of_grid);
  std::vector<std::optional<EnvelopePoint>> result;
  for (const Allocation& allocation : allocations) {
    result.push_back(envelope[IndexIn(grid, allocation)]);
    if (result.back().has_value()) {
      result.back()->index = in_list[result.back()->index];
    }
  }
  return result;
}

std::vector<Allocation> NeighboursOf(const Allocation& center,
                                     absl::Span<const int> available) {
  std::vector<Allocation> found = {{}};
  for (size_t g = 0; g < available.size(); ++g) {
    std::vector<Allocation> longer;
    for (const Allocation& begun : found) {
      for (int nodes = std::max(0, center[g] - 1);
           nodes <= std::min(available[g], center[g] + 1); ++nodes) {
        longer.push_back(begun);
        longer.back().push_back(nodes);
      }
    }
    found = std::move(longer);
  }
  std::erase_if(found, IsEmpty);
  return found;
}

std::vector<Allocation> PowersOfOneGroup(absl::Span<const int> available) {
  std::vector<Allocation> found;
  for (size_t g = 0; g < available.size(); ++g) {
    const auto add = [&](int nodes) {
      found.emplace_back(available.size(), 0)[g] = nodes;
    };
    for (int64_t nodes = 1; nodes < available[g]; nodes *= 2) {
      add(static_cast<int>(nodes));
    }
    if (available[g] > 0) add(available[g]);
  }
  SortOnce(found);
  return found;
}

std::vector<Allocation> OneGroupWithGpus(int num_gpus,
                                         absl::Span<const int> available,
                                         absl::Span<const int> gpus_of_node) {
  std::vector<Allocation> found;
  for (size_t g = 0; g < available.size(); ++g) {
    if (available[g] == 0 || num_gpus % gpus_of_node[g] != 0) continue;
    const int nodes = num_gpus / gpus_of_node[g];
    if (nodes < 1 || nodes > available[g]) continue;
    found.emplace_back(available.size(), 0)[g] = nodes;
  }
  SortOnce(found);
  return found;
}

void SortOnce(std::vector<Allocation>& allocations) {
  std::sort(allocations.begin(), allocations.end());
  allocations.erase(std::unique(allocations.begin(), allocations.end()),
                    allocations.end());
}

}  // namespace tangram
