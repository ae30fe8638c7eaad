#include "common/wire/recompute_wire.h"

#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"

namespace tangram {

v1::LayerRecompute EncodeRecompute(
    const std::optional<LayerRecompute>& recompute) {
  if (!recompute.has_value()) return v1::LAYER_RECOMPUTE_UNSPECIFIED;
  switch (*recompute) {
    case LayerRecompute::kNone:
      return v1::LAYER_RECOMPUTE_NONE;
    case LayerRecompute::kAttentionCore:
      return v1::LAYER_RECOMPUTE_SELECTIVE;
    case LayerRecompute::kWholeLayer:
      return v1::LAYER_RECOMPUTE_FULL;
  }
  return v1::LAYER_RECOMPUTE_UNSPECIFIED;
}

absl::StatusOr<std::optional<LayerRecompute>> DecodeRecompute(
    const char* field, v1::LayerRecompute recompute) {
  switch (recompute) {
    case v1::LAYER_RECOMPUTE_UNSPECIFIED:
      return std::nullopt;
    case v1::LAYER_RECOMPUTE_NONE:
      return LayerRecompute::kNone;
    case v1::LAYER_RECOMPUTE_SELECTIVE:
      return LayerRecompute::kAttentionCore;
    case v1::LAYER_RECOMPUTE_FULL:
      return LayerRecompute::kWholeLayer;
    default:
      return FieldError(field, absl::StrCat(static_cast<int>(recompute)),
                        "none, selective or full");
  }
}

}  // namespace tangram
