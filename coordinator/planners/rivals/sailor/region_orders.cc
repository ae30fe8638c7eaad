#include "coordinator/planners/rivals/sailor/region_orders.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/infinity.h"

namespace tangram::sailor {
namespace {

int GpusOf(const Zone& zone) {
  return std::accumulate(zone.gpus.begin(), zone.gpus.end(), 0);
}

// The highest rate from one GPU of any type in a region to one in another,
// between their first zones. Negative: there is no path.
double RateBetween(const Input& input, const Region& from, const Region& to) {
  double best = -1;
  const int types = static_cast<int>(input.types.size());
  for (int sender = 0; sender < types; ++sender) {
    for (int receiver = 0; receiver < types; ++receiver) {
      const auto path = input.paths.find(
          {{from.zones[0], sender, 1}, {to.zones[0], receiver, 1}});
      if (path == input.paths.end()) continue;
      best = std::max(best, path->second.most_bytes_per_s);
    }
  }
  return best;
}

}  // namespace

absl::StatusOr<std::vector<Region>> RegionsOf(const Input& input) {
  std::map<std::string, std::vector<int>> zones;
  for (int i = 0; i < static_cast<int>(input.zones.size()); ++i) {
    const Zone& zone = input.zones[i];
    if (GpusOf(zone) > 0) zones[zone.region].push_back(i);
  }
  if (zones.size() > kMostRegions) {
    return FieldError("zones", absl::StrCat(zones.size(), " regions"),
                      absl::StrCat("at most ", kMostRegions, " with GPUs"));
  }
  std::vector<Region> regions;
  for (auto& [name, members] : zones) {
    std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
      return GpusOf(input.zones[a]) > GpusOf(input.zones[b]);
    });
    regions.push_back({name, std::move(members)});
  }
  return regions;
}

std::vector<std::vector<int>> RegionOrders(const Input& input,
                                           const std::vector<Region>& regions) {
  const int count = static_cast<int>(regions.size());
  std::vector<std::vector<double>> rate(count, std::vector<double>(count));
  for (int a = 0; a < count; ++a) {
    for (int b = 0; b < count; ++b) {
      if (a != b) rate[a][b] = RateBetween(input, regions[a], regions[b]);
    }
  }
  std::vector<std::pair<double, std::vector<int>>> orders;
  for (int size = 1; size <= count; ++size) {
    for (unsigned set = 1; set < 1U << count; ++set) {
      std::vector<int> order;
      for (int i = 0; i < count; ++i) {
        if ((set >> i & 1U) != 0) order.push_back(i);
      }
      if (static_cast<int>(order.size()) != size) continue;
      std::pair<double, std::vector<int>> best{-kInfinity, {}};
      do {
        double slowest = kInfinity;
        for (size_t i = 1; i < order.size(); ++i) {
          slowest = std::min(slowest, rate[order[i - 1]][order[i]]);
        }
        if (slowest > best.first) best = {slowest, order};
      } while (std::next_permutation(order.begin(), order.end()));
      orders.push_back(std::move(best));
    }
  }
  std::stable_sort(
      orders.begin(), orders.end(),
      [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::vector<int>> result;
  for (auto& [slowest, order] : orders) result.push_back(std::move(order));
  return result;
}

}  // namespace tangram::sailor
