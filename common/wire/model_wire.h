#ifndef TANGRAM_COMMON_WIRE_MODEL_WIRE_H_
#define TANGRAM_COMMON_WIRE_MODEL_WIRE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/domain/model_slice.h"
#include "common/domain/model_spec.h"

namespace tangram::v1 {
class LayerSpec;
class Model;
class SliceList;
}  // namespace tangram::v1

namespace tangram {

v1::LayerSpec ToProto(const LayerSpec& layer);
v1::Model ToProto(const ModelSpec& model);
v1::SliceList ToProto(absl::Span<const ModelSlice> slices);

absl::StatusOr<LayerSpec> FromProto(const v1::LayerSpec& message);
absl::StatusOr<ModelSpec> FromProto(const v1::Model& message);
// Computes fingerprints; they do not travel.
absl::StatusOr<std::vector<ModelSlice>> FromProto(const v1::SliceList& message);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_MODEL_WIRE_H_
