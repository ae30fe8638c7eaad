#ifndef TANGRAM_CLI_VALIDATION_RECIPES_H_
#define TANGRAM_CLI_VALIDATION_RECIPES_H_

#include "cli/validation/measured_run.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/training_options.h"

namespace tangram {

// Sets options of NVIDIA's Megatron Bridge runs that the row does not state.
// Its tables have degrees and times only. The recipes beside them
// (NVIDIA-NeMo/Megatron-Bridge, scripts/performance/configs and
// src/megatron/bridge/recipes) tell which modules are recomputed, how many
// layers' activations are offloaded, and in what precision Adam keeps its
// moments.
void ApplyRecipe(const MeasuredRun& run, const ModelSpec& model,
                 TrainingOptions& training, PipelinePlan& plan);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_RECIPES_H_
