#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_CONFIG_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_CONFIG_H_

#include <vector>

#include "common/base/fingerprint.h"

namespace tangram::aceso {

// What a stage runs and on how many GPUs. Everything else follows from it.
struct StageShape {
  int begin = 0;  // Positions of a SliceLayout.
  int end = 0;
  int degrees = 0;    // Index into DegreeSpace::choices().
  int in_flight = 1;  // Microbatches held under 1F1B.

  bool operator==(const StageShape&) const = default;
};

// Every layer on `level` of the recompute hull, but the first `upper_layers`
// one level further.
struct RecomputeChoice {
  int level = 0;
  int upper_layers = 0;

  bool operator==(const RecomputeChoice&) const = default;
};

// Estimates of one stage for one microbatch, transfers apart.
struct StageFigures {
  RecomputeChoice recompute;
  double compute_s = 0;    // Forward and backward with recomputation.
  double backward_s = 0;   // Its backward share, with recomputation.
  double recompute_s = 0;  // Its recomputed share.
  double peak_bytes = 0;
  bool fits = false;
};

struct ConfiguredStage {
  StageShape shape;
  // The shape that `figures` and `sync_s` are of.
  StageShape estimated = {.degrees = -1};
  StageFigures figures;
  int first_gpu = 0;
  double send_s = 0;  // To the next stage and back.
  double sync_s = 0;  // Gradient reduction and optimizer step.

  double time_s() const { return figures.compute_s + send_s; }
};

// A point of the search: a pipeline over the whole slice.
struct Configuration {
  std::vector<ConfiguredStage> stages;
  int trailing_stages = 0;  // That memory is kept for.
  // Of one iteration of these stages alone; see Estimator::Complete.
  double score_s = 0;
  double bytes_short = 0;  // Of the stage that lacks most memory; 0: all fit.

  int num_stages() const { return static_cast<int>(stages.size()); }
};

// True if `a` is to be preferred: it lacks less memory, or fits too and is
// faster.
inline bool IsBetter(const Configuration& a, const Configuration& b) {
  if (a.bytes_short != b.bytes_short) return a.bytes_short < b.bytes_short;
  return a.score_s < b.score_s;
}

// Of what is chosen freely: cuts and degrees.
inline Fingerprint FingerprintOf(const Configuration& configuration) {
  Fingerprinter fp;
  for (const ConfiguredStage& stage : configuration.stages) {
    fp.Add(static_cast<int64_t>(stage.shape.begin) << 32 | stage.shape.degrees);
  }
  return fp.Finish();
}

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_CONFIG_H_
