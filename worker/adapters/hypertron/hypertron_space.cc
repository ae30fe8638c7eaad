#include "worker/adapters/hypertron/hypertron_space.h"

namespace tangram {
namespace {

// Adds the prime factors of `number`.
void AddPrimesOf(int number, std::set<int>& primes) {
  for (int p = 2; number > 1; ++p) {
    if (number % p == 0) primes.insert(p);
    while (number % p == 0) number /= p;
  }
}

}  // namespace

// Points are grouped by depth, because walks start at each depth.
HypertronSpace::HypertronSpace(const IslandSpec& island,
                               const SplitLimits& limits, int num_layers) {
  for (const EqualStages& layout : LayoutsOf(
           island, num_layers, StageSizes(island, limits, kHypertronDegrees))) {
    AddPrimesOf(layout.num_stages * layout.gpus_per_stage, primes_);
    depths_.push_back({.begin = size()});
    for (const StageParallelism& parallelism : ParallelismsOf(
             layout.gpus_per_stage, island, limits, kHypertronDegrees)) {
      if (parallelism.fsep)
        continue;  // Fully sharded experts belong to LAER-MoE.
      const EqualStagesChoice choice = {layout, parallelism};
      point_at_[DegreesOf(choice)] = size();
      points_.push_back(choice);
    }
    depths_.back().end = size();
  }
  neighbours_.resize(points_.size());
}

bool HypertronSpace::IsPlain(int point) const {
  const StageParallelism& p = at(point).parallelism;
  return p.cp_degree == 1 && p.ep_degree == 1 && p.tp_y_degree == 1;
}

// A point as a vector of degrees, in the order of enum Degree.
HypertronSpace::Degrees HypertronSpace::DegreesOf(
    const EqualStagesChoice& choice) {
  const StageParallelism& p = choice.parallelism;
  return {choice.layout.num_stages, p.dp_degree,   p.cp_degree,
          p.tp_x_degree(),          p.tp_y_degree, p.ep_degree};
}

absl::Span<const int> HypertronSpace::NeighboursOf(int point) {
  if (neighbours_[point].empty()) neighbours_[point] = FindNeighbours(point);
  return neighbours_[point];
}

// Moves one prime factor from one degree to another. ep shares its ranks with
// dp and cp, so it gains or loses a factor alone.
std::vector<int> HypertronSpace::FindNeighbours(int point) const {
  std::vector<int> found;
  const Degrees here = DegreesOf(at(point));
  const auto visit = [&](const Degrees& there) {
    const auto it = point_at_.find(there);
    if (it != point_at_.end()) found.push_back(it->second);
  };
  for (const int prime : primes_) {
    for (int from = 0; from < kNumDegrees; ++from) {
      if (here[from] % prime != 0) continue;
      Degrees without = here;
      without[from] /= prime;
      if (from == kEp) {
        visit(without);
        continue;
      }
      for (int to = 0; to < kEp; ++to) {
        if (to == from) continue;
        Degrees there = without;
        there[to] *= prime;
        visit(there);
      }
    }
    Degrees more_ep = here;
    more_ep[kEp] *= prime;
    visit(more_ep);
  }
  return found;
}

}  // namespace tangram
