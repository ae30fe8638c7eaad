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

// rate[k] = 1/κ_i = max w / slowest stage, latency[k] = λ_i, backward[k] = β_i
// and forward[k] = φ_i, over the candidates of the islands i of kind k. They
// are summed up for all sets of islands, each from that without one of its last
// kind.
PrefixBounds::PrefixBounds(const ComposeProblem& problem,
                           absl::Span<const LeastOfPair> leasts,
                           const IslandKinds& kinds)
    : kinds_(kinds), work_(problem.num_atoms + 1) {
  const double total_work =
      std::accumulate(problem.atom_work.begin(), problem.atom_work.end(), 0.0);
  const double least_work = total_work > 0 ? kSliver * total_work : 1;
  for (int atom = 0; atom < problem.num_atoms; ++atom) {
    const double work = problem.atom_work[atom];
    work_[atom + 1] = work_[atom] + (work > 0 ? work : least_work);
  }
  std::vector<double> rate(kinds.num_kinds());  // 1/κ_i
  std::vector<double> latency(kinds.num_kinds(), kInfinity);
  std::vector<double> backward = latency;
  std::vector<double> forward = latency;
  for (size_t p = 0; p < problem.pairs.size(); ++p) {
    const PlacedPair& placed = problem.pairs[p];
    const int k = kinds.KindOf(placed.island);
    if (kinds.FirstOf(k) != placed.island) continue;
    const LeastOfPair& least = leasts[p];
    const double work = work_[placed.atoms.end] - work_[placed.atoms.begin];
    rate[k] = std::max(rate[k], work / least.slowest_s);
    latency[k] = std::min(latency[k], least.latency_s / work);
    backward[k] = std::min(backward[k], least.backward_s / work);
    forward[k] = std::min(forward[k], least.forward_s / work);
  }
  const int64_t num_sets = kinds.num_sets();
  capacity_.assign(num_sets, 0);
  least_latency_.assign(num_sets, kInfinity);
  least_backward_ = least_forward_ = least_latency_;
  int k = 0;
  for (int64_t set = 1; set < num_sets; ++set) {
    while (set >= kinds.SpanOf(k)) ++k;  // The last kind in the set.
    const int64_t others = set - kinds.StrideOf(k);
    capacity_[set] = capacity_[others] + rate[k];
    least_latency_[set] = std::min(least_latency_[others], latency[k]);
    least_backward_[set] = std::min(least_backward_[others], backward[k]);
    least_forward_[set] = std::min(least_forward_[others], forward[k]);
  }
}

}  // namespace tangram
