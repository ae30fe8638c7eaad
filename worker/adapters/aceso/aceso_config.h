#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_CONFIG_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_CONFIG_H_

#include <utility>
#include <vector>

#include "common/base/fingerprint.h"

namespace tangram::aceso {

// The operators of a stage and its GPUs. All estimates follow from these.
struct StageShape {
  int begin = 0;      // First position in the SliceLayout.
  int end = 0;        // Position after the last operator.
  int degrees = 0;    // Index into DegreeSpace::choices().
  int in_flight = 1;  // Microbatches held under 1F1B.

  bool operator==(const StageShape&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const StageShape& shape) {
    return H::combine(std::move(h), shape.begin, shape.end, shape.degrees,
                      shape.in_flight);
  }
};

// Recomputation of a stage. All layers use the masks of `level`, except that
// the first `upper_layers` use those of `level` + 1.
struct RecomputeChoice {
  int level = 0;  // Index into DegreeTable::levels.
  int upper_layers = 0;

  bool operator==(const RecomputeChoice&) const = default;
};

// Estimates of one stage for one microbatch, without transfers.
struct StageFigures {
  RecomputeChoice recompute;  // The least recomputation that fits.
  double compute_s = 0;    // Forward and backward pass, recomputation included.
  double backward_s = 0;   // Backward pass, recomputation included.
  double recompute_s = 0;  // Recomputation alone.
  double peak_bytes = 0;   // Most memory that a GPU needs, in bytes.
  bool fits = false;       // Whether peak_bytes is within the GPU's memory.
};

// A stage with its place on the island and its estimates.
struct ConfiguredStage {
  StageShape shape;
  // The shape for which `figures` and `sync_s` hold.
  StageShape estimated = {.degrees = -1};
  StageFigures figures;
  int first_gpu = 0;  // Index on the island.
  double send_s = 0;  // Transfers to the next stage and back.
  double sync_s = 0;  // Gradient reduction and optimizer step.

  double time_s() const { return figures.compute_s + send_s; }
};

// A point of the search: a pipeline over the whole slice.
struct Configuration {
  std::vector<ConfiguredStage> stages;
  int trailing_stages =
      0;  // Stages behind the slice for which memory is reserved.
  // Seconds of one iteration of these stages alone; see Complete.
  double score_s = 0;
  double bytes_short = 0;  // Shortage of the fullest stage; 0 if all fit.

  int num_stages() const { return static_cast<int>(stages.size()); }
};

// Returns whether `a` is the better configuration: it lacks less memory, or
// lacks as much and has the lower score.
inline bool IsBetter(const Configuration& a, const Configuration& b) {
  if (a.bytes_short != b.bytes_short) return a.bytes_short < b.bytes_short;
  return a.score_s < b.score_s;
}

// Identifies a configuration by its free choices: cuts and degrees.
inline Fingerprint FingerprintOf(const Configuration& configuration) {
  Fingerprinter fp;
  for (const ConfiguredStage& stage : configuration.stages) {
    fp.Add(static_cast<int64_t>(stage.shape.begin) << 32 | stage.shape.degrees);
  }
  return fp.Finish();
}

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_CONFIG_H_
