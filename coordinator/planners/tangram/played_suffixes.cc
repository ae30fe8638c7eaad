#include "coordinator/planners/tangram/played_suffixes.h"

#include <algorithm>
#include <tuple>

namespace tangram {
namespace {

// Returns the slices with the least latency of those on the same atoms and
// island with as many stages.
std::vector<SliceBound> Quickest(std::vector<SliceBound> slices) {
  const auto kind = [](const SliceBound& slice) {
    return std::tie(slice.atoms.end, slice.island, slice.num_stages);
  };
  std::sort(slices.begin(), slices.end(),
            [&](const SliceBound& a, const SliceBound& b) {
              return std::tuple_cat(kind(a), std::tie(a.latency_s)) <
                     std::tuple_cat(kind(b), std::tie(b.latency_s));
            });
  slices.erase(std::unique(slices.begin(), slices.end(),
                           [&](const SliceBound& a, const SliceBound& b) {
                             return kind(a) == kind(b);
                           }),
               slices.end());
  return slices;
}

}  // namespace

PlayedSuffixes::PlayedSuffixes(const BoundProblem& problem,
                               absl::Span<const std::vector<SliceBound>> slices)
    : num_islands_(problem.num_islands),
      num_sets_(problem.num_sets()),
      num_microbatches_(problem.num_microbatches) {
  rows_.assign(IndexOf(problem.num_atoms + 1, 0, 0), RowOf<Row>(kInfinity));
  std::vector<int> ends(rows_.size());  // [row]: it is infinite from there on.
  for (size_t i = IndexOf(problem.num_atoms, 0, 0); i < rows_.size(); ++i) {
    rows_[i][0] = 0;
    ends[i] = 1;
  }
  std::vector<Row> first;  // [set in use before][island of the first slice].
  std::vector<int> first_ends;
  for (int atom = problem.num_atoms - 1; atom > 0; --atom) {
    first.assign(size_t{num_sets_} * num_islands_, RowOf<Row>(kInfinity));
    first_ends.assign(first.size(), 0);
    for (const SliceBound& slice : Quickest(slices[atom])) {
      const uint32_t own = problem.SetOf(slice.island);
      const int stages = std::min(slice.num_stages, kMostStages);
      for (uint32_t used = 0; used < num_sets_; ++used) {
        if ((used & own) != 0) continue;
        ++steps_;
        const size_t behind =
            IndexOf(slice.atoms.end, used | own, slice.island);
        const int end = ends[behind];
        if (end == 0) continue;
        const Row& rest = rows_[behind];
        const size_t at = size_t{used} * num_islands_ + slice.island;
        Row& row = first[at];
        for (int n = 0; n < end; ++n) {
          double& least = row[std::min(n + stages, kMostStages)];
          least = std::min(least, slice.latency_s + rest[n]);
        }
        first_ends[at] =
            std::max(first_ends[at], std::min(end + stages, kMostStages + 1));
      }
    }
    for (int from = 0; from < num_islands_; ++from) {
      for (int to = 0; to < num_islands_; ++to) {
        if (from == to) continue;
        const auto [x, y] = problem.TransfersAt(atom, from, to);
        for (uint32_t used = 0; used < num_sets_; ++used) {
          const size_t behind = size_t{used} * num_islands_ + to;
          const size_t at = IndexOf(atom, used, from);
          for (int n = 0; n < first_ends[behind]; ++n) {
            rows_[at][n] = std::min(rows_[at][n], x + y + first[behind][n]);
          }
          ends[at] = std::max(ends[at], first_ends[behind]);
        }
      }
    }
  }
}

double PlayedSuffixes::BusiestSeconds(const SliceBound& slice,
                                      uint32_t used) const {
  const Row& rest = LatencyOf(slice.atoms.end, used, slice.island);
  const int most = num_microbatches_ - 1 - slice.stages_to_end;  // n + c < B.
  const double t = slice.stage_s;
  double least_s = kInfinity;
  for (int n = 0; n <= kMostStages; ++n) {
    if (rest[n] == kInfinity) continue;
    const double behind_s = slice.behind_s + rest[n];  // r + R
    const double rounds_s = (most - n + 2) * t + 2 * behind_s;
    const double filled_s = t + behind_s + (num_microbatches_ - 1) * t / 2;
    double passes_s = n <= most ? rounds_s : filled_s;
    // Any number of stages from kMostStages on.
    if (n == kMostStages && n <= most) {
      passes_s = std::min(2 * t + 2 * behind_s, filled_s);
    }
    least_s = std::min(least_s, passes_s);
  }
  return std::max(slice.busiest_s, slice.before_s + least_s);
}

}  // namespace tangram
