#include "coordinator/planners/judge/choose_islands.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "common/base/check.h"

namespace tangram {

// Computes f by ascending size of the sets, so that f of all subsets is known.
// O(k²) for k different sets of islands.
int ChooseIslands(absl::Span<const ScoredPipeline> pipelines, double min_gain) {
  TANGRAM_CHECK(!pipelines.empty());
  const auto faster = [&](int a, int b) {
    return std::pair(pipelines[a].iteration_time_s, a) <
           std::pair(pipelines[b].iteration_time_s, b);
  };
  std::map<uint32_t, int> fastest;  // S → index of b(S).
  for (int i = 0; i < static_cast<int>(pipelines.size()); ++i) {
    const auto [it, inserted] = fastest.try_emplace(pipelines[i].islands, i);
    if (!inserted && faster(i, it->second)) it->second = i;
  }
  std::vector<uint32_t> sets;
  for (const auto& [islands, pipeline] : fastest) sets.push_back(islands);
  std::stable_sort(sets.begin(), sets.end(), [](uint32_t a, uint32_t b) {
    return std::popcount(a) < std::popcount(b);
  });

  std::map<uint32_t, int> chosen;  // S → index of f(S).
  int best = -1;
  for (const uint32_t islands : sets) {
    int smaller = -1;
    for (const auto& [subset, pipeline] : chosen) {
      const bool inside = (subset & islands) == subset;
      if (inside && (smaller < 0 || faster(pipeline, smaller))) {
        smaller = pipeline;
      }
    }
    int choice = fastest[islands];
    if (smaller >= 0 && pipelines[choice].iteration_time_s * (1 + min_gain) >
                            pipelines[smaller].iteration_time_s) {
      choice = smaller;
    }
    chosen[islands] = choice;
    if (best < 0 || faster(choice, best)) best = choice;
  }
  return best;
}

}  // namespace tangram
