#ifndef TANGRAM_FORMATS_CONFIG_RESIZE_MODEL_H_
#define TANGRAM_FORMATS_CONFIG_RESIZE_MODEL_H_

#include "absl/status/statusor.h"
#include "common/domain/limits.h"
#include "common/domain/model_spec.h"

namespace tangram {

// Returns `model` with that many transformer layers: the first ones, or all of
// them followed by more in the same pattern. Experts in every second layer stay
// in every second layer, and leading dense layers stay at the front. The name
// becomes "mixtral-8x7b (16 layers)". kInvalidArgument unless
// 1 <= num_layers <= kMaxTransformerLayers.
absl::StatusOr<ModelSpec> ResizeModel(const ModelSpec& model, int num_layers);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_RESIZE_MODEL_H_
