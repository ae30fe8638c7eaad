#ifndef TANGRAM_COMMON_PARALLELIZER_STAGE_TRANSFER_H_
#define TANGRAM_COMMON_PARALLELIZER_STAGE_TRANSFER_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// What a stage and the one after it on the same island hand each other for a
// microbatch, activations there and gradients back, in seconds. The stage has
// the GPUs [first_gpu, first_gpu + num_gpus), the next `next_gpus` behind them;
// it begins with operator `op` of `next_layer`.
double SecondsToNextStage(const IslandSpec& island,
                          const ParallelizeOptions& options, int first_gpu,
                          int num_gpus, int next_gpus,
                          const LayerSpec& next_layer, int op = 0);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_STAGE_TRANSFER_H_
