#include "coordinator/composition/problem_ranges.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "common/domain/slice_plan.h"

namespace tangram {

std::vector<std::vector<int>> PairsByEnd(const ComposeProblem& problem) {
  std::vector<std::vector<int>> ending_at(problem.num_atoms + 1);
  for (int i = 0; i < static_cast<int>(problem.pairs.size()); ++i) {
    ending_at[problem.pairs[i].atoms.end].push_back(i);
  }
  return ending_at;
}

StageRange StagesOf(const ComposeProblem& problem) {
  StageRange range;
  for (const PlacedPair& placed : problem.pairs) {
    for (const Candidate& candidate : placed.pair->candidates) {
      range.fastest_s = std::min(range.fastest_s, candidate.slowest_s);
      range.slowest_s = std::max(range.slowest_s, candidate.slowest_s);
    }
  }
  return range;
}

std::vector<LeastOfPair> LeastsOf(const ComposeProblem& problem) {
  // A pair has many positions.
  absl::flat_hash_map<const PairCandidates*, LeastOfPair> known;
  std::vector<LeastOfPair> leasts;
  leasts.reserve(problem.pairs.size());
  for (const PlacedPair& placed : problem.pairs) {
    const auto [it, is_new] = known.try_emplace(placed.pair);
    LeastOfPair& least = it->second;
    if (is_new) {
      for (const Candidate& candidate : placed.pair->candidates) {
        const double forward_s = candidate.latency_s - candidate.backward_s;
        least.latency_s = std::min(least.latency_s, candidate.latency_s);
        least.slowest_s = std::min(least.slowest_s, candidate.slowest_s);
        least.backward_s = std::min(least.backward_s, candidate.backward_s);
        least.forward_s = std::min(least.forward_s, forward_s);
      }
    }
    leasts.push_back(least);
  }
  return leasts;
}

int StagesToldApart(const ComposeProblem& problem) {
  if (problem.max_stages < std::numeric_limits<int>::max()) {
    return problem.max_stages;
  }
  int most = -1;
  for (const PlacedPair& placed : problem.pairs) {
    for (const Candidate& candidate : placed.pair->candidates) {
      if (candidate.max_trailing_stages >= kUnlimitedTrailingStages) continue;
      most = std::max(most, candidate.max_trailing_stages);
    }
  }
  return most + 1;
}

bool MayHaveStages(const ComposeProblem& problem, int num_stages) {
  return num_stages >= problem.min_stages &&
         problem.divided_by_stages % num_stages == 0;
}

}  // namespace tangram
