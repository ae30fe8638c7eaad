#include "coordinator/composition/prefix_bounds.h"

#include <algorithm>
#include <numeric>

#include "common/base/infinity.h"

namespace tangram {

namespace {

// The share of all work that an atom without work gets. The bounds hold for any
// positive value. A small one keeps the bounds of the other atoms tight.
constexpr double kSliver = 1e-9;

}  // namespace

// rate[i] = 1/κ_i = max w / slowest stage, latency[i] = λ_i, backward[i] = β_i
// and forward[i] = φ_i, over the candidates of island i. They are summed up for
// all 2^n sets of islands, which takes O(n 2^n) steps.
PrefixBounds::PrefixBounds(const ComposeProblem& problem)
    : work_(problem.num_atoms + 1) {
  const double total_work =
      std::accumulate(problem.atom_work.begin(), problem.atom_work.end(), 0.0);
  const double least_work = total_work > 0 ? kSliver * total_work : 1;
  for (int atom = 0; atom < problem.num_atoms; ++atom) {
    const double work = problem.atom_work[atom];
    work_[atom + 1] = work_[atom] + (work > 0 ? work : least_work);
  }
  std::vector<double> rate(problem.num_islands);  // 1/κ_i
  std::vector<double> latency(problem.num_islands, kInfinity);
  std::vector<double> backward = latency;
  std::vector<double> forward = latency;
  for (const PlacedPair& placed : problem.pairs) {
    const double work = work_[placed.atoms.end] - work_[placed.atoms.begin];
    for (const Candidate& candidate : placed.pair->candidates) {
      const int i = placed.island;
      const double forward_s = candidate.latency_s - candidate.backward_s;
      rate[i] = std::max(rate[i], work / candidate.slowest_s);
      latency[i] = std::min(latency[i], candidate.latency_s / work);
      backward[i] = std::min(backward[i], candidate.backward_s / work);
      forward[i] = std::min(forward[i], forward_s / work);
    }
  }
  const uint32_t num_sets = uint32_t{1} << problem.num_islands;
  capacity_.assign(num_sets, 0);
  least_latency_.assign(num_sets, kInfinity);
  least_backward_ = least_forward_ = least_latency_;
  for (uint32_t set = 1; set < num_sets; ++set) {
    for (int i = 0; i < problem.num_islands; ++i) {
      if ((set >> i & 1) == 0) continue;
      capacity_[set] += rate[i];
      least_latency_[set] = std::min(least_latency_[set], latency[i]);
      least_backward_[set] = std::min(least_backward_[set], backward[i]);
      least_forward_[set] = std::min(least_forward_[set], forward[i]);
    }
  }
}

}  // namespace tangram
