#ifndef TANGRAM_COMMON_SIM_EVALUATE_MIXED_STAGES_H_
#define TANGRAM_COMMON_SIM_EVALUATE_MIXED_STAGES_H_

#include <vector>

#include "common/sim/evaluate_plan.h"
#include "common/sim/play_pipeline.h"
#include "common/sim/stage_figures.h"

namespace tangram {

// Evaluates the stages of a plan that has mixed stages. Sets
// evaluation.measured_fraction and all figures of the stages and of their
// groups, except idle_s and the busy_s of stages, which it returns.
//
// A group is a stage of equal replicas with its share of the samples, so the
// cost model gives its times t_g and memory. Between stages, the slowest of
// these sets the time of a transfer of S bytes: all GPUs with S, and each group
// of either side with its part of S. The gradients of the groups are added up
// in a ring over them, after each has reduced its own (AllReduceSeconds).
// If in.poll stops, the results are of no use.
PipelineRun EvaluateMixedStages(const EvaluatedPipeline& in,
                                std::vector<TimelineEvent>* timeline,
                                Evaluation& evaluation);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_EVALUATE_MIXED_STAGES_H_
