#ifndef TANGRAM_FRAMEWORKS_EQUAL_STAGES_H_
#define TANGRAM_FRAMEWORKS_EQUAL_STAGES_H_

#include "absl/status/status.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"

namespace tangram {

// Gives all stages equal degrees and settings, for frameworks with one device
// mesh. Takes the largest tensor-parallel degree, and sequence parallelism and
// a sharded optimizer if any stage has them, so that weights need no more
// memory than planned if possible. Offloading, 2-D tensor parallelism and
// sharded experts are dropped. kInvalidArgument if stages have different
// numbers of GPUs, or the degrees do not fit the model.
absl::Status EqualizeStages(const ModelSpec& model, PipelinePlan& plan);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_EQUAL_STAGES_H_
