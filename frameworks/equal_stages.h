#ifndef TANGRAM_FRAMEWORKS_EQUAL_STAGES_H_
#define TANGRAM_FRAMEWORKS_EQUAL_STAGES_H_

#include "absl/status/status.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"

namespace tangram {

// For frameworks with one device mesh: gives all stages the degrees and
// settings of one, chosen so that none needs more memory for weights than
// planned where that can be: the largest tensor-parallel degree, sequence
// parallelism and a sharded optimizer where any stage has them. Offloading,
// 2-D tensor parallelism and sharded experts are dropped. kInvalidArgument if
// stages have different numbers of GPUs, or the degrees do not fit the model.
absl::Status EqualizeStages(const ModelSpec& model, PipelinePlan& plan);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_EQUAL_STAGES_H_
