#ifndef TANGRAM_COMMON_SIM_TIED_MATRIX_H_
#define TANGRAM_COMMON_SIM_TIED_MATRIX_H_

#include "common/cost/collectives.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/training_options.h"

namespace tangram {

// Returns whether the head uses the embedding's matrix and runs on other GPUs.
bool SplitsTiedMatrix(const ModelSpec& model, const PipelinePlan& plan);

// Returns whether the head uses the embedding's matrix.
bool HasTiedMatrix(const ModelSpec& model);

// Returns the seconds in which the first and the last stage of a plan exchange
// the gradients of the matrix that embedding and head share, once an iteration;
// 0 if not SplitsTiedMatrix. Each replica of a stage does so for itself, after
// its gradients are reduced (Megatron-LM since 2020,
// _allreduce_embedding_grads; DeepSpeed, _exec_reduce_tied_grads). With V words
// of h elements, b bytes of a gradient and R replicas, an all-reduce of two
// moves V·h·b·R bytes in either direction. `path` is from the first to the last
// stage. Pure, thread-safe.
double TiedMatrixSeconds(const ModelSpec& model,
                         const TrainingOptions& training,
                         const PipelinePlan& plan, const TransferPath& path);

// The same for stages of so many replicas, the more of both stages. The model
// must have a tied matrix.
double TiedMatrixSeconds(const ModelSpec& model,
                         const TrainingOptions& training, double replicas,
                         const TransferPath& path);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_TIED_MATRIX_H_
