#ifndef TANGRAM_FRAMEWORKS_WHOLE_PARTS_H_
#define TANGRAM_FRAMEWORKS_WHOLE_PARTS_H_

#include "absl/status/status.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"

// Whether what a framework splits comes out even, beyond what holds of every
// valid plan (ValidatePlan).
namespace tangram {

// kInvalidArgument if a stage cannot cut its sequences into the parts of its
// ranks: two of each context-parallel rank, one in each half, and with sequence
// parallelism one of each tensor-parallel rank.
absl::Status RequireWholeSequenceParts(int sequence_length,
                                       const PipelinePlan& plan);

// kInvalidArgument if the tp of the first or of the last stage does not divide
// the vocabulary: for frameworks that do not pad it.
absl::Status RequireWholeVocabularyParts(const ModelSpec& model,
                                         const PipelinePlan& plan);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_WHOLE_PARTS_H_
