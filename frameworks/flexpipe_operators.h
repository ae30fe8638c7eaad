#ifndef TANGRAM_FRAMEWORKS_FLEXPIPE_OPERATORS_H_
#define TANGRAM_FRAMEWORKS_FLEXPIPE_OPERATORS_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// FlexPipe, Aceso's runtime, counts the operators of a GPT from the embedding
// to the loss: one for the embedding, 13 for each layer, two for the head. Our
// operators are the same except for the attention core, which is four of
// theirs: scores, softmax, dropout and context.
inline constexpr int kFlexPipeLayerOps = 13;

// Returns how many FlexPipe operators one of ours is.
int FlexPipeOps(OpKind op);

// Returns, for each FlexPipe operator in order, our operator that contains it.
std::vector<OperatorCut> FlexPipeOrder(const ModelSpec& model);

// Returns the position in that order of the first FlexPipe operator at or after
// `cut`.
int FlexPipeIndex(const ModelSpec& model, OperatorCut cut);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_FLEXPIPE_OPERATORS_H_
