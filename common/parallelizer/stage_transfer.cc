#include "common/parallelizer/stage_transfer.h"

#include "common/cost/collectives.h"
#include "common/cost/operator_cost.h"

namespace tangram {

// Gradients have as many bytes as activations, so both directions take twice
// the time of one.
double SecondsToNextStage(const IslandSpec& island,
                          const ParallelizeOptions& options,
                          const NeighbouringStages& stages,
                          const LayerSpec& next_layer, int op) {
  const TransferPath path =
      PathWithin(island, stages.first_gpu, stages.num_gpus,
                 stages.first_gpu + stages.num_gpus, stages.next_gpus);
  return 2 * TransferSeconds(
                 BoundaryBytes(next_layer, op, options.pipeline_microbatch_size,
                               options.training),
                 path);
}

}  // namespace tangram
