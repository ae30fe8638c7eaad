#ifndef TANGRAM_COORDINATOR_BOUNDS_WORK_BOUNDS_H_
#define TANGRAM_COORDINATOR_BOUNDS_WORK_BOUNDS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/model_slice.h"
#include "common/parallelizer/parallelizer.h"

namespace tangram {

// The properties of an island that bounds depend on. All are 0 for an island
// that must not be used.
struct IslandCapacity {
  int num_gpus = 0;
  double usable_bytes = 0;  // Over all GPUs, without the runtime's reserve.
  int most_stage_gpus = 0;  // The most GPUs of one stage.
};

// Lower bounds on the time and memory of pipelines, from profiles of single
// atoms, for one pipeline microbatch size. They are used by imbalance and
// infeasibility pruning (paper §5.1 (ii) and (iii)).
//
// Let W_i(S) = Σ_{a in S} min_gpu_seconds and Λ_i(S) = Σ_{a in S} min_latency_s
// of atom a on island i, N_i the number of its GPUs, and k(S) the most stages
// into which S can be cut. A slice S on island i has a stage of at least
//
//   W_i(S) / N_i   and   Λ_i(S) / k(S)
//
// seconds, and the sum of its stages is at least that. Atoms S that may run on
// any island of a set U take at least
//
//   w(S) / Σ_{i in U} N_i / c_i,   c_i = min_a W_i(a) / w(a),
//
// where w(a) is the mean of W_i(a) over the islands. Island i needs at least
// c_i · w(a) GPU-seconds for atom a, so per second U processes at most
// Σ N_i / c_i of w.
//
// Stages of at most g_i GPUs run one after the other for each microbatch, so
// the latency of S is at least
//
//   W_i(S) / g_i   and   w(S) / max_{i in U} g_i / c_i
//
// seconds, and at least Λ_i(S) and Σ_{a in S} min_{i in U} Λ_i(a). All bounds
// hold for all plans, so pruning by them is exact.
class WorkBounds {
 public:
  // profiles[i][a] is the profile of atom a on island i, and most_stages[a] the
  // number of stages into which it can be cut, at least 1.
  WorkBounds(absl::Span<const IslandCapacity> islands,
             absl::Span<const std::vector<PerformanceProfile>> profiles,
             absl::Span<const int> most_stages, int num_microbatches);

  int num_microbatches() const { return num_microbatches_; }
  // The set of all islands, a bit each.
  uint32_t all_islands() const { return all_islands_; }

  // Returns a lower bound in seconds on the slowest stage of `range` on
  // `island`. Infinite on an island that must not be used.
  double SliceSeconds(AtomRange range, int island) const;

  // Returns a lower bound in seconds on the slowest stage, and on the latency,
  // of atoms [0, num_prefix) on the islands of `usable` (a bit each). Infinite
  // if there are atoms but no islands.
  double PrefixSeconds(int num_prefix, uint32_t usable) const;

  // Returns a lower bound in seconds on the closed-form iteration time of any
  // pipeline in which `island` runs `range` and the others run the rest.
  // Infinite if there is no such pipeline.
  double PairIterationSeconds(AtomRange range, int island) const;

  // Returns a lower bound in seconds on the latency of the atoms that are not
  // in `range`, on the other islands.
  double RestLatencySeconds(AtomRange range, int island) const;

  // Returns a lower bound in seconds on the iteration time of any pipeline.
  double IterationSeconds() const;

  // Returns a lower bound in seconds on the simulated iteration time of any
  // 1F1B pipeline, whose transfers run beside its passes.
  double PlayedSeconds() const;

  // True if the least memory that `range` needs exceeds that of the island.
  bool ExceedsMemory(AtomRange range, int island) const;

  // Returns the least bytes that `range` needs on any island.
  double LeastBytes(AtomRange range) const;
  // Returns the usable bytes of all islands together.
  double UsableBytes() const;

  // Returns the share of `range` in the model's mean work, in (0, 1].
  double WorkShare(AtomRange range) const;

  // Returns the mean work of atoms [0, end), w, in GPU-seconds.
  double MeanWork(int end) const { return mean_work_[end]; }

  // Returns the greatest mean work that `islands` process per second:
  // Σ N_i / c_i.
  double Capacity(uint32_t islands) const;

 private:
  // Return lower bounds in seconds on the slowest stage, and on the latency, of
  // `mean_work` spread over `usable`.
  double RestSeconds(double mean_work, uint32_t usable) const;
  double RestLatencySeconds(double mean_work, uint32_t usable) const;

  // Returns the most mean work of one microbatch that the stages of a 1F1B
  // pipeline can hold if the iteration takes one second.
  double MostWorkASecond() const;

  // Fills a row of least_latency_: the least over the usable islands other than
  // `left_out`.
  std::vector<double> LeastLatencies(
      absl::Span<const std::vector<PerformanceProfile>> profiles,
      int left_out) const;

  std::vector<IslandCapacity> islands_;
  int num_microbatches_;
  int num_atoms_;
  uint32_t all_islands_;
  // Prefix sums: entry [end] is the sum over atoms [0, end).
  std::vector<std::vector<double>> work_;     // [island][end]: W_i.
  std::vector<std::vector<double>> bytes_;    // [island][end]: least bytes.
  std::vector<std::vector<double>> latency_;  // [island][end]: Λ_i.
  // [i][end]: the least Λ on other islands than i; the last row: on any island.
  std::vector<std::vector<double>> least_latency_;
  std::vector<int> stages_;             // [end]: k.
  std::vector<double> mean_work_;       // [end]: w.
  std::vector<double> capacity_;        // [island]: N_i / c_i.
  std::vector<double> stage_capacity_;  // [island]: g_i / c_i.
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_BOUNDS_WORK_BOUNDS_H_
