#ifndef TANGRAM_TESTS_PARITY_MIST_TUNING_H_
#define TANGRAM_TESTS_PARITY_MIST_TUNING_H_

#include <map>
#include <vector>

#include "tests/parity/mist_formula.h"

// Mist's search space and model of a stage, searched by our kernels.
namespace tangram::mist::reference {

struct TuningCase {
  Hardware hardware;
  std::map<int, PieceTable> seconds;  // By samples of a replica.
  ModelSizes sizes;
  int num_layers = 24;
  int num_gpus = 1;  // All in one node.
  int global_batch = 1;
  bool offloads = false;
};

struct TunedPipeline {
  double iteration_s = 0;
  std::vector<Stage> stages;
};

// Returns the best pipeline; no stages if nothing fits. Searches numbers of
// microbatches (powers of two), numbers of stages (divisors of the GPUs),
// layers of each stage (within two of even), ZeRO stages, offloading and
// recomputation. tp is 1.
TunedPipeline Tune(const TuningCase& tuning);

// Returns  (G − 1)·max T + Σ T + max(0, max_i (D_i − Σ_{j<i} T_j)).
double IterationSeconds(const TuningCase& tuning,
                        const std::vector<Stage>& stages);

// Returns whether a stage is within the capacity, by Mist's rule.
bool Fits(const TuningCase& tuning, const StageFigures& figures,
          const Policy& policy, int stage, int num_stages);

}  // namespace tangram::mist::reference

#endif  // TANGRAM_TESTS_PARITY_MIST_TUNING_H_
