#ifndef TANGRAM_FRAMEWORKS_FLEXPIPE_OPERATORS_H_
#define TANGRAM_FRAMEWORKS_FLEXPIPE_OPERATORS_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// FlexPipe, Aceso's runtime, counts operators of a GPT from the embedding to
// the loss: one for the embedding, 13 a layer, two for the head. Ours are the
// same but for the attention core, which is four of theirs: scores, softmax,
// dropout and context.
inline constexpr int kFlexPipeLayerOps = 13;

// FlexPipe operators of one of ours.
int FlexPipeOps(OpKind op);

// Operator `op` of layer `layer`; the first of ours that holds a FlexPipe
// operator, one entry for each of theirs.
std::vector<OperatorCut> FlexPipeOrder(const ModelSpec& model);

// The position in that order of the first FlexPipe operator at or after `cut`.
int FlexPipeIndex(const ModelSpec& model, OperatorCut cut);

// Whether operators [begin, end) lie between the ends of a tensor that skips
// operators: FlexPipe sends it to the next stage, never further.
bool LiesUnderSkippingTensor(const ModelSpec& model, int begin, int end);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_FLEXPIPE_OPERATORS_H_
