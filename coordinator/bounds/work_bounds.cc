#include "coordinator/bounds/work_bounds.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "common/base/infinity.h"
#include "common/domain/closed_form.h"

namespace tangram {
namespace {

// Returns the sum over the atoms of `range` from its prefix sums.
template <typename Value>
Value SumOf(const std::vector<Value>& prefix, AtomRange range) {
  return prefix[range.end] - prefix[range.begin];
}

// Returns the sum over all other atoms.
template <typename Value>
Value RestOf(const std::vector<Value>& prefix, AtomRange range) {
  return prefix.back() - SumOf(prefix, range);
}

}  // namespace

// Prefix sums make every bound O(1) in atoms: with P[e] the sum over [0, e),
// the sum over [b, e) is P[e] − P[b].
WorkBounds::WorkBounds(
    absl::Span<const IslandCapacity> islands,
    absl::Span<const std::vector<PerformanceProfile>> profiles,
    absl::Span<const int> most_stages, int num_microbatches)
    : islands_(islands.begin(), islands.end()),
      num_microbatches_(num_microbatches),
      num_atoms_(static_cast<int>(profiles.front().size())),
      all_islands_((uint32_t{1} << islands.size()) - 1),
      stages_(num_atoms_ + 1),
      mean_work_(num_atoms_ + 1) {
  const int num_islands = static_cast<int>(islands.size());
  work_.assign(num_islands, std::vector<double>(num_atoms_ + 1));
  latency_ = bytes_ = work_;
  for (int a = 0; a < num_atoms_; ++a) {
    double mean = 0;
    for (int i = 0; i < num_islands; ++i) {
      const PerformanceProfile& profile = profiles[i][a];
      work_[i][a + 1] = work_[i][a] + profile.min_gpu_seconds;
      latency_[i][a + 1] = latency_[i][a] + profile.min_latency_s;
      bytes_[i][a + 1] = bytes_[i][a] + profile.min_total_bytes;
      mean += profile.min_gpu_seconds / num_islands;
    }
    mean_work_[a + 1] = mean_work_[a] + mean;
    stages_[a + 1] = stages_[a] + most_stages[a];
  }
  for (int i = 0; i <= num_islands; ++i) {
    least_latency_.push_back(LeastLatencies(profiles, i));
  }
  for (int i = 0; i < num_islands; ++i) {
    double cost = kInfinity;  // c_i
    for (int a = 0; a < num_atoms_; ++a) {
      const double mean = mean_work_[a + 1] - mean_work_[a];
      if (mean > 0)
        cost = std::min(cost, profiles[i][a].min_gpu_seconds / mean);
    }
    // Without measurements nothing bounds the island, so its capacity is
    // infinite.
    const auto capacity = [cost](int num_gpus) {
      return num_gpus == 0 ? 0 : cost > 0 ? num_gpus / cost : kInfinity;
    };
    capacity_.push_back(capacity(islands[i].num_gpus));
    stage_capacity_.push_back(capacity(islands[i].most_stage_gpus));
  }
}

// Without another usable island, nothing bounds the rest.
std::vector<double> WorkBounds::LeastLatencies(
    absl::Span<const std::vector<PerformanceProfile>> profiles,
    int left_out) const {
  std::vector<double> sums = {0};
  for (int a = 0; a < num_atoms_; ++a) {
    double least_s = kInfinity;
    for (int i = 0; i < static_cast<int>(islands_.size()); ++i) {
      if (i == left_out || islands_[i].num_gpus == 0) continue;
      least_s = std::min(least_s, profiles[i][a].min_latency_s);
    }
    sums.push_back(sums.back() + (least_s < kInfinity ? least_s : 0));
  }
  return sums;
}

// max(W_i(S) / N_i, Λ_i(S) / k(S)): no stage arrangement uses more than N_i
// GPU-seconds a second, and one of k stages takes at least their mean time.
double WorkBounds::SliceSeconds(AtomRange range, int island) const {
  const int num_gpus = islands_[island].num_gpus;
  if (num_gpus == 0) return kInfinity;
  return std::max(SumOf(work_[island], range) / num_gpus,
                  SumOf(latency_[island], range) / SumOf(stages_, range));
}

// Σ_{i in islands} N_i / c_i.
double WorkBounds::Capacity(uint32_t islands) const {
  double capacity = 0;
  for (size_t i = 0; i < capacity_.size(); ++i) {
    if (islands & (uint32_t{1} << i)) capacity += capacity_[i];
  }
  return capacity;
}

// w / Σ_{i in usable} N_i / c_i.
double WorkBounds::RestSeconds(double mean_work, uint32_t usable) const {
  if (usable == 0) return kInfinity;
  // No work takes no time. Without this case, a capacity of zero would give
  // 0/0, which bounds nothing.
  return mean_work <= 0 ? 0 : mean_work / Capacity(usable);
}

// w / max_{i in usable} g_i / c_i.
double WorkBounds::RestLatencySeconds(double mean_work, uint32_t usable) const {
  if (mean_work <= 0) return 0;
  double fastest = 0;
  for (size_t i = 0; i < stage_capacity_.size(); ++i) {
    if (usable & (uint32_t{1} << i)) {
      fastest = std::max(fastest, stage_capacity_[i]);
    }
  }
  return mean_work / fastest;
}

double WorkBounds::PrefixSeconds(int num_prefix, uint32_t usable) const {
  if (num_prefix == 0) return 0;
  return RestSeconds(mean_work_[num_prefix], usable);
}

// The closed form with lower bounds in place of stage times. With B
// microbatches, o = SliceSeconds(range, island), r the bound of the other
// atoms on the other islands, and o', r' the bounds of their latencies:
//
//   J ≥ (o' + r') + (B − 1) · max(o, r).
double WorkBounds::RestLatencySeconds(AtomRange range, int island) const {
  if (range.size() == num_atoms_) return 0;
  const uint32_t others = all_islands_ & ~(uint32_t{1} << island);
  return std::max(RestLatencySeconds(RestOf(mean_work_, range), others),
                  RestOf(least_latency_[island], range));
}

double WorkBounds::PairIterationSeconds(AtomRange range, int island) const {
  const double own_s = SliceSeconds(range, island);
  double rest_s = 0;
  if (range.size() < num_atoms_) {
    const double rest = RestOf(mean_work_, range);
    const uint32_t others = all_islands_ & ~(uint32_t{1} << island);
    const double least_s = RestOf(least_latency_[island], range);
    rest_s =
        std::max(RestSeconds(rest, others), least_s / RestOf(stages_, range));
  }
  const double slowest_s = std::max(own_s, rest_s);
  // One microbatch would multiply an infinite time by zero, which bounds
  // nothing.
  if (std::isinf(slowest_s)) return slowest_s;
  const IslandCapacity& own = islands_[island];
  const double own_latency_s =
      std::max(SumOf(work_[island], range) / own.most_stage_gpus,
               SumOf(latency_[island], range));
  return ClosedFormSeconds(own_latency_s + RestLatencySeconds(range, island),
                           slowest_s, num_microbatches_);
}

// With t the bound of the slowest stage of the whole model on all islands, and
// Λ that of its latency: J ≥ max(t, Λ) + (B − 1) · t.
double WorkBounds::IterationSeconds() const {
  const double latency_s = least_latency_.back()[num_atoms_];
  const double slowest_s = std::max(PrefixSeconds(num_atoms_, all_islands_),
                                    latency_s / stages_[num_atoms_]);
  return ClosedFormSeconds(std::max(latency_s, slowest_s), slowest_s,
                           num_microbatches_);
}

// Let t_s be the passes of one microbatch in stage s, without transfers. In a
// 1F1B pipeline with B microbatches, stage s waits for the first microbatch and
// is busy with all of them. The last one then goes back through the stages
// before it, so
//
//   T ≥ Σ_{i<s} t_i + B t_s   for each s.
//
// So with q = 1 − 1/B and Σ_s the sum over the first s stages, T − Σ_{s+1} ≥ q
// (T − Σ_s). Any k stages together, taken alone, obey the same, so they have at
// most T (1 − q^k) seconds. A stage of capacity γ (mean work per second) does γ
// t_s of a microbatch's work. With capacities in descending order, Abel's
// summation gives
//
//   Σ_s γ_s t_s ≤ Σ_k (γ_k − γ_{k+1}) T (1 − q^k) = T Σ_k γ_k (q^{k−1} − q^k).
//
// The right side is greatest if the capacity of the islands is in few stages:
// island i has Σ γ ≤ N_i / c_i and each γ ≤ g_i / c_i.
double WorkBounds::MostWorkASecond() const {
  struct Stages {
    double capacity = 0;  // Mean work per second of each stage.
    int count = 0;
  };
  std::vector<Stages> stages;
  for (size_t i = 0; i < islands_.size(); ++i) {
    if (islands_[i].num_gpus == 0) continue;
    if (std::isinf(capacity_[i])) return kInfinity;
    const int count = islands_[i].num_gpus / islands_[i].most_stage_gpus;
    stages.push_back({stage_capacity_[i], count});
    stages.push_back({capacity_[i] - count * stage_capacity_[i], 1});
  }
  std::sort(stages.begin(), stages.end(), [](const Stages& a, const Stages& b) {
    return a.capacity > b.capacity;
  });
  const double q = 1 - 1.0 / num_microbatches_;
  double work = 0;
  double left = 1;  // q to the number of stages so far.
  for (const Stages& equal : stages) {
    const double after = left * std::pow(q, equal.count);
    work += std::max(0.0, equal.capacity) * (left - after);
    left = after;
  }
  return work;
}

// Likewise Σ_s t_s ≤ T (1 − q^k) for k stages, and Σ_s t_s is at least the
// least latency.
double WorkBounds::PlayedSeconds() const {
  const double work = mean_work_[num_atoms_];
  const double most_work = MostWorkASecond();
  const double q = 1 - 1.0 / num_microbatches_;
  const double latency_s = least_latency_.back()[num_atoms_] /
                           (1 - std::pow(q, stages_[num_atoms_]));
  if (work <= 0) return latency_s;
  return std::max(latency_s, most_work > 0 ? work / most_work : kInfinity);
}

bool WorkBounds::ExceedsMemory(AtomRange range, int island) const {
  return SumOf(bytes_[island], range) > islands_[island].usable_bytes;
}

double WorkBounds::LeastBytes(AtomRange range) const {
  double least = kInfinity;
  for (const std::vector<double>& bytes : bytes_) {
    least = std::min(least, SumOf(bytes, range));
  }
  return least;
}

double WorkBounds::UsableBytes() const {
  double usable = 0;
  for (const IslandCapacity& island : islands_) usable += island.usable_bytes;
  return usable;
}

double WorkBounds::WorkShare(AtomRange range) const {
  const double total = mean_work_[num_atoms_];
  if (total <= 0) return 1;
  return SumOf(mean_work_, range) / total;
}

}  // namespace tangram
