#include "coordinator/composition/problem_ranges.h"

#include <algorithm>
#include <limits>

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
  std::vector<LeastOfPair> leasts(problem.pairs.size());
  for (size_t p = 0; p < leasts.size(); ++p) {
    LeastOfPair& least = leasts[p];
    for (const Candidate& candidate : problem.pairs[p].pair->candidates) {
      least.latency_s = std::min(least.latency_s, candidate.latency_s);
      least.slowest_s = std::min(least.slowest_s, candidate.slowest_s);
    }
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
