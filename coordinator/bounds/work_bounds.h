#ifndef TANGRAM_COORDINATOR_BOUNDS_WORK_BOUNDS_H_
#define TANGRAM_COORDINATOR_BOUNDS_WORK_BOUNDS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/model_slice.h"
#include "common/parallelizer/parallelizer.h"

namespace tangram {

// An island as the bounds see it. One that must not be used has nothing.
struct IslandCapacity {
  int num_gpus = 0;
  double usable_bytes = 0;  // Over all GPUs, without the runtime's reserve.
};

// Lower bounds on pipelines, from the profiles of single atoms, for one
// pipeline microbatch size. Let W_i(S) = Σ_{a in S} min_gpu_seconds of atom a
// on island i, and N_i its GPUs. A slice S on island i has a stage of at least
//   W_i(S) / N_i
// seconds, and its stages take at least that in sum. Atoms that may run on any
// of a set U of islands take at least
//   w(S) / Σ_{i in U} N_i / c_i,   c_i = min_a W_i(a) / w(a),
// with w(a) the mean of W_i(a) over the islands: island i needs at least
// c_i·w(a) GPU-seconds for atom a, so U offers at most Σ N_i / c_i of w a
// second. Both hold whatever the plans are, so pruning by them is exact.
class WorkBounds {
 public:
  // profiles[i][a]: of atom a on island i.
  WorkBounds(absl::Span<const IslandCapacity> islands,
             absl::Span<const std::vector<PerformanceProfile>> profiles,
             int num_microbatches);

  int num_microbatches() const { return num_microbatches_; }
  uint32_t all_islands() const { return all_islands_; }

  // Lower bound on the slowest stage of `range` on `island`.
  // Infinite on an island that must not be used.
  double SliceSeconds(AtomRange range, int island) const;

  // Lower bound on the slowest stage, and on the latency, of atoms
  // [0, num_prefix) on the islands of `usable` (a bit each). Infinite where
  // there are atoms but no islands.
  double PrefixSeconds(int num_prefix, uint32_t usable) const;

  // Lower bound on the closed-form iteration time of any pipeline in which
  // `island` runs `range` and the others run the rest.
  double PairIterationSeconds(AtomRange range, int island) const;

  // Lower bound on the iteration time of any pipeline at all.
  double IterationSeconds() const;

  // Whether the least memory that `range` needs exceeds the island's.
  bool ExceedsMemory(AtomRange range, int island) const;

  // The least bytes that `range` needs on any island, and what all have.
  double LeastBytes(AtomRange range) const;
  double UsableBytes() const;

  // Share of the model's work in `range`, in (0, 1].
  double WorkShare(AtomRange range) const;

  // Work of atoms [0, end) by the islands' mean.
  double MeanWork(int end) const { return mean_work_[end]; }

  // What `islands` can do at most of the mean work in a second.
  double Capacity(uint32_t islands) const;

 private:
  double RestSeconds(double mean_work, uint32_t usable) const;

  std::vector<IslandCapacity> islands_;
  int num_microbatches_;
  int num_atoms_;
  uint32_t all_islands_;
  std::vector<std::vector<double>> work_;   // [island][end], prefix sums.
  std::vector<std::vector<double>> bytes_;  // Likewise.
  std::vector<double> mean_work_;           // [end], prefix sums of w.
  std::vector<double> capacity_;            // [island]: N_i / c_i.
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_BOUNDS_WORK_BOUNDS_H_
