#include "coordinator/planners/tangram/slice_groups.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "coordinator/planners/tangram/simulated_bound.h"

namespace tangram {
namespace {

// Lowers the bounds of each set of islands to those of its parts.
void AddParts(int num_islands, std::vector<PrefixBound>& of_sets) {
  for (uint32_t set = 0; set < of_sets.size(); ++set) {
    for (int island = 0; island < num_islands; ++island) {
      const PrefixBound& part = of_sets[set & ~(uint32_t{1} << island)];
      PrefixBound& whole = of_sets[set];
      whole.latency_s = std::min(whole.latency_s, part.latency_s);
      whole.busiest_s = std::min(whole.busiest_s, part.busiest_s);
    }
  }
}

}  // namespace

void SliceGroup::Add(int slice, const SliceBound& bound) {
  latency_s = std::min(latency_s, bound.latency_s);
  busiest_s = std::min(busiest_s, bound.busiest_s);
  closed_latency_s =
      std::min(closed_latency_s, bound.closing_s + bound.latency_s);
  closed_busiest_s =
      std::min(closed_busiest_s, bound.closing_s + bound.busiest_s);
  slices.push_back(slice);
}

AroundSlices::AroundSlices(int num_islands,
                           absl::Span<const std::vector<SliceGroup>> ending,
                           absl::Span<const std::vector<PrefixBound>> prefixes)
    : all_islands_((uint32_t{1} << num_islands) - 1),
      before_(prefixes.begin(), prefixes.end()),
      behind_s_(ending.size(),
                std::vector<double>(all_islands_ + 1, kInfinity)) {
  for (std::vector<PrefixBound>& of_sets : before_) {
    AddParts(num_islands, of_sets);
  }
  behind_s_.back().assign(all_islands_ + 1, 0);
  for (size_t end = ending.size() - 1; end > 0; --end) {
    for (const SliceGroup& group : ending[end]) {
      const uint32_t own = uint32_t{1} << group.island;
      for (uint32_t set = own; set <= all_islands_; set = (set + 1) | own) {
        double& least_s = behind_s_[group.begin][set];
        least_s = std::min(
            least_s, std::max(group.busiest_s,
                              group.latency_s + behind_s_[end][set & ~own]));
      }
    }
  }
}

void AroundSlices::KeepUseful(
    int end, double limit_s,
    absl::FunctionRef<const SliceBound&(int slice)> bound_of,
    SliceGroup& group) const {
  // Seconds before and behind the slice, over the sets before it.
  absl::InlinedVector<std::pair<double, double>, 16> around;
  const bool closes = group.begin == 0;
  const uint32_t others = all_islands_ & ~(uint32_t{1} << group.island);
  for (uint32_t before = others;; before = (before - 1) & others) {
    const PrefixBound& prefix = before_[group.begin][before];
    const double behind_s = behind_s_[end][others & ~before];
    const double least_s =
        std::max(prefix.busiest_s,
                 prefix.latency_s +
                     std::max(closes ? group.closed_busiest_s : group.busiest_s,
                              group.latency_s + behind_s));
    if (kRounding * least_s < limit_s) {
      around.emplace_back(prefix.latency_s, behind_s);
    }
    if (before == 0) break;
  }
  SliceGroup useful{.begin = group.begin, .island = group.island};
  for (const int slice : group.slices) {
    const SliceBound& bound = bound_of(slice);
    const double closing_s = closes ? bound.closing_s : 0;
    for (const auto& [before_s, behind_s] : around) {
      const double least_s =
          before_s + closing_s +
          std::max(bound.busiest_s, bound.latency_s + behind_s);
      if (kRounding * least_s >= limit_s) continue;
      useful.Add(slice, bound);
      break;
    }
  }
  group = std::move(useful);
}

}  // namespace tangram
