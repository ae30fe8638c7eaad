#include "coordinator/planners/tangram/played_prefixes.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "common/base/infinity.h"
#include "coordinator/planners/tangram/simulated_bound.h"

namespace tangram {
namespace {

// Returns whether no bound on a pipeline rises if `a` takes the place of `b`,
// on the same atoms and island.
bool IsNoWorse(const SliceBound& a, const SliceBound& b, int num_microbatches) {
  if (a.stages_to_end != b.stages_to_end) return false;
  const bool is_first = a.atoms.begin == 0;
  const double more_s = is_first ? a.closing_s - b.closing_s : 0;
  // The bounds of PlayedSuffixes::BusiestSeconds are linear in the number of
  // stages behind the slice.
  const auto passes = [&](const SliceBound& slice, double stages) {
    return slice.before_s + 2 * slice.behind_s + stages * slice.stage_s;
  };
  const auto filled = [&](const SliceBound& slice) {
    return slice.before_s + slice.behind_s +
           (num_microbatches + 1) * slice.stage_s / 2;
  };
  return a.latency_s + more_s <= b.latency_s &&
         a.busiest_s + more_s <= b.busiest_s &&
         passes(a, 1) + more_s <= passes(b, 1) &&
         passes(a, num_microbatches) + more_s <= passes(b, num_microbatches) &&
         filled(a) + more_s <= filled(b);
}

// Returns the slices without those that another is no worse than.
std::vector<SliceBound> WithoutWorse(std::vector<SliceBound> slices,
                                     int num_microbatches) {
  const auto place = [](const SliceBound& slice) {
    return std::tie(slice.atoms.begin, slice.island);
  };
  std::stable_sort(slices.begin(), slices.end(),
                   [&](const SliceBound& a, const SliceBound& b) {
                     return std::tuple_cat(place(a), std::tie(a.latency_s)) <
                            std::tuple_cat(place(b), std::tie(b.latency_s));
                   });
  std::vector<SliceBound> best;
  size_t first = 0;  // The first on the same atoms and island.
  for (const SliceBound& slice : slices) {
    if (!best.empty() && place(best.back()) != place(slice)) {
      first = best.size();
    }
    if (std::none_of(best.begin() + static_cast<std::ptrdiff_t>(first),
                     best.end(), [&](const SliceBound& other) {
                       return IsNoWorse(other, slice, num_microbatches);
                     })) {
      best.push_back(slice);
    }
  }
  return best;
}

}  // namespace

PlayedPrefixes::PlayedPrefixes(const BoundProblem& problem,
                               absl::Span<const std::vector<SliceBound>> slices,
                               const PlayedSuffixes& suffixes, double least_s,
                               double limit_s)
    : num_islands_(problem.num_islands), num_sets_(problem.num_sets()) {
  SetLevels(least_s, limit_s);
  rows_.assign(IndexOf(problem.num_atoms + 1, 0, 0), RowOf<Row>(kInfinity));
  for (int i = 0; i <= num_islands_; ++i)
    rows_[IndexOf(0, 0, i)] = RowOf<Row>(0);
  std::vector<Row> last;  // [set][island of the last slice].
  for (int atom = 1; atom <= problem.num_atoms; ++atom) {
    last.assign(size_t{num_sets_} * num_islands_, RowOf<Row>(kInfinity));
    AddSlices(problem, WithoutWorse(slices[atom], problem.num_microbatches),
              suffixes, last);
    Connect(problem, atom, last);
  }
}

void PlayedPrefixes::SetLevels(double least_s, double limit_s) {
  const double step_s =
      std::isfinite(limit_s) ? std::max(limit_s - least_s, 0.0) / kLevels : 0;
  for (int j = 0; j < kLevels; ++j) {
    levels_s_[j] =
        j + 1 == kLevels ? limit_s / kRounding : least_s + (j + 1) * step_s;
    slower_than_s_[j] = j == 0 ? 0 : levels_s_[j - 1];
  }
}

// Puts slices behind the prefixes that end where they begin.
void PlayedPrefixes::AddSlices(const BoundProblem& problem,
                               absl::Span<const SliceBound> ending,
                               const PlayedSuffixes& suffixes,
                               std::vector<Row>& last) {
  for (const SliceBound& slice : ending) {
    const bool is_first = slice.atoms.begin == 0;
    const double closing_s = is_first ? slice.closing_s : 0;
    const double latency_s = slice.latency_s + closing_s;
    const uint32_t own = problem.SetOf(slice.island);
    for (uint32_t set = 0; set < num_sets_; ++set) {
      if ((set & own) != own || (is_first && set != own)) continue;
      ++steps_;
      const Row& before =
          rows_[IndexOf(slice.atoms.begin, set & ~own, slice.island)];
      if (before[kLevels - 1] == kInfinity) continue;
      const double busiest_s = suffixes.BusiestSeconds(slice, set) + closing_s;
      Row& row = last[size_t{set} * num_islands_ + slice.island];
      for (int j = 0; j < kLevels; ++j) {
        const double with_s = before[j] + busiest_s <= levels_s_[j]
                                  ? before[j] + latency_s
                                  : kInfinity;
        row[j] = std::min(row[j], with_s);
      }
    }
  }
}

// Adds the transfers to each next island.
void PlayedPrefixes::Connect(const BoundProblem& problem, int num_atoms,
                             absl::Span<const Row> last) {
  const bool is_end = num_atoms == problem.num_atoms;
  for (int from = 0; from < num_islands_; ++from) {
    for (int to = 0; to <= num_islands_; ++to) {
      if (is_end != (to == num_islands_) || from == to) continue;
      const auto [x, y] = is_end ? std::pair(0.0, 0.0)
                                 : problem.TransfersAt(num_atoms, from, to);
      const double transfers_s = x + y;
      const double link_s =
          transfers_s + (problem.num_microbatches - 1) * std::max(x, y);
      for (uint32_t set = 0; set < num_sets_; ++set) {
        const Row& behind = last[size_t{set} * num_islands_ + from];
        if (behind[kLevels - 1] == kInfinity) continue;
        Row& row = rows_[IndexOf(num_atoms, set, to)];
        for (int j = 0; j < kLevels; ++j) {
          const double with_s = behind[j] + link_s <= levels_s_[j]
                                    ? behind[j] + transfers_s
                                    : kInfinity;
          row[j] = std::min(row[j], with_s);
        }
      }
    }
  }
}

}  // namespace tangram
