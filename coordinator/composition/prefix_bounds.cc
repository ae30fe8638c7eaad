#include "coordinator/composition/prefix_bounds.h"

#include <algorithm>
#include <limits>

namespace tangram {

PrefixBounds::PrefixBounds(const ComposeProblem& problem)
    : work_(problem.num_atoms + 1) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (int atom = 0; atom < problem.num_atoms; ++atom) {
    work_[atom + 1] = work_[atom] + problem.atom_work[atom];
  }
  std::vector<double> rate(problem.num_islands);  // 1/κ_i
  std::vector<double> latency(problem.num_islands, kInfinity);
  for (const PlacedPair& placed : problem.pairs) {
    const double work = work_[placed.atoms.end] - work_[placed.atoms.begin];
    for (const Candidate& candidate : placed.pair->candidates) {
      double& island_rate = rate[placed.island];
      double& island_latency = latency[placed.island];
      island_rate = std::max(island_rate, work / candidate.slowest_s);
      island_latency = std::min(island_latency, candidate.latency_s / work);
    }
  }
  const uint32_t num_sets = uint32_t{1} << problem.num_islands;
  capacity_.assign(num_sets, 0);
  least_latency_.assign(num_sets, kInfinity);
  for (uint32_t set = 1; set < num_sets; ++set) {
    for (int i = 0; i < problem.num_islands; ++i) {
      if ((set >> i & 1) == 0) continue;
      capacity_[set] += rate[i];
      least_latency_[set] = std::min(least_latency_[set], latency[i]);
    }
  }
}

}  // namespace tangram
