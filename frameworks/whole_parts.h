#ifndef TANGRAM_FRAMEWORKS_WHOLE_PARTS_H_
#define TANGRAM_FRAMEWORKS_WHOLE_PARTS_H_

#include "absl/status/status.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"

// Checks that splits of a framework have no remainder, beyond what holds for
// every valid plan (ValidatePlan).
namespace tangram {

// kInvalidArgument if a stage cannot divide its sequences among its ranks. Each
// context-parallel rank gets two parts, one from each half. With sequence
// parallelism each tensor-parallel rank gets one.
absl::Status RequireWholeSequenceParts(int sequence_length,
                                       const PipelinePlan& plan);

// kInvalidArgument if the tp of the first or last stage does not divide the
// vocabulary. For frameworks that do not pad it.
absl::Status RequireWholeVocabularyParts(const ModelSpec& model,
                                         const PipelinePlan& plan);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_WHOLE_PARTS_H_
