#ifndef TANGRAM_COMMON_PARALLELIZER_STAGE_TRANSFER_H_
#define TANGRAM_COMMON_PARALLELIZER_STAGE_TRANSFER_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Returns the seconds of the transfers between a stage and the next one on the
// same island for one microbatch: activations forward and gradients back. The
// stage has the GPUs [first_gpu, first_gpu + num_gpus), the next stage the
// `next_gpus` after them. The next stage begins with operator `op` of
// `next_layer`.
double SecondsToNextStage(const IslandSpec& island,
                          const ParallelizeOptions& options, int first_gpu,
                          int num_gpus, int next_gpus,
                          const LayerSpec& next_layer, int op = 0);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_STAGE_TRANSFER_H_
