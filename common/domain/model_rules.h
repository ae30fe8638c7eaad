#ifndef TANGRAM_COMMON_DOMAIN_MODEL_RULES_H_
#define TANGRAM_COMMON_DOMAIN_MODEL_RULES_H_

#include "absl/status/status.h"
#include "common/domain/model_spec.h"

// Rules that keep a model from contradicting itself. Errors are
// kInvalidArgument and name the field. The runner has the same rules
// (tools/runner/tangram_runner/read_model.py).
namespace tangram {

// Checks that the dimensions of one layer fit each other: key and value heads
// divide the heads, the MLP is dense or has enough experts, and fields of
// experts are 0 where there are none.
absl::Status CheckLayerFits(const LayerSpec& layer);

// Checks that an embedding comes first, then transformer layers, then a head;
// that they have one hidden size; and that embedding and head have one
// vocabulary and share weights on both sides or on none.
absl::Status CheckLayersFit(const ModelSpec& model);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_MODEL_RULES_H_
