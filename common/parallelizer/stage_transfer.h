#ifndef TANGRAM_COMMON_PARALLELIZER_STAGE_TRANSFER_H_
#define TANGRAM_COMMON_PARALLELIZER_STAGE_TRANSFER_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// GPUs of two neighbouring stages of an island: the stage has
// [first_gpu, first_gpu + num_gpus), the next stage the `next_gpus` after them.
struct NeighbouringStages {
  int first_gpu = 0;
  int num_gpus = 0;
  int next_gpus = 0;
};

// Returns the seconds of the transfers between the two stages for one
// microbatch: activations forward and gradients back. The next stage begins
// with operator `op` of `next_layer`.
double SecondsToNextStage(const IslandSpec& island,
                          const ParallelizeOptions& options,
                          const NeighbouringStages& stages,
                          const LayerSpec& next_layer, int op = 0);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_STAGE_TRANSFER_H_
