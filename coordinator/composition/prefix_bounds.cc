#include "coordinator/composition/prefix_bounds.h"

#include <algorithm>
#include <bit>
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
// all 2^n sets of islands, each from that without its last island.
PrefixBounds::PrefixBounds(const ComposeProblem& problem,
                           absl::Span<const LeastOfPair> leasts)
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
  for (size_t p = 0; p < problem.pairs.size(); ++p) {
    const PlacedPair& placed = problem.pairs[p];
    const LeastOfPair& least = leasts[p];
    const double work = work_[placed.atoms.end] - work_[placed.atoms.begin];
    const int i = placed.island;
    rate[i] = std::max(rate[i], work / least.slowest_s);
    latency[i] = std::min(latency[i], least.latency_s / work);
    backward[i] = std::min(backward[i], least.backward_s / work);
    forward[i] = std::min(forward[i], least.forward_s / work);
  }
  const uint32_t num_sets = uint32_t{1} << problem.num_islands;
  capacity_.assign(num_sets, 0);
  least_latency_.assign(num_sets, kInfinity);
  least_backward_ = least_forward_ = least_latency_;
  for (uint32_t set = 1; set < num_sets; ++set) {
    const int i = std::bit_width(set) - 1;
    const uint32_t others = set & ~(uint32_t{1} << i);
    capacity_[set] = capacity_[others] + rate[i];
    least_latency_[set] = std::min(least_latency_[others], latency[i]);
    least_backward_[set] = std::min(least_backward_[others], backward[i]);
    least_forward_[set] = std::min(least_forward_[others], forward[i]);
  }
}

}  // namespace tangram
