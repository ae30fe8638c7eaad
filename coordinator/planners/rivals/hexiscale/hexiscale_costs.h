#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_COSTS_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_COSTS_H_

#include <vector>

#include "coordinator/planners/rivals/hexiscale/hexiscale_input.h"

// HexiScale's closed forms of times and memory. Pure.
namespace tangram {

// Returns the seconds of the slowest pipeline, plus those of the exchange of
// gradients between pipelines:
//   1.8 max over pipelines of PipelineSeconds + 1.1 SyncSeconds
double PlanSeconds(const HexiscaleInput& input, const HexiscalePlan& plan);

// Returns the seconds in which a pipeline runs `num_microbatches` of `samples`.
// Microbatch m is in stage s in step m + s. A step takes as long as its slowest
// stage, with its transfers.
double PipelineSeconds(const HexiscaleInput& input,
                       const HexiscalePipeline& pipeline, int samples,
                       int num_microbatches);

// Returns the seconds in which the pipelines sum up their gradients, layer by
// layer.
double SyncSeconds(const HexiscaleInput& input,
                   const std::vector<HexiscalePipeline>& pipelines);

// Returns the bytes of each GPU of stage `s`.
double StageBytes(const HexiscaleInput& input,
                  const HexiscalePipeline& pipeline, int s, int samples);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_COSTS_H_
