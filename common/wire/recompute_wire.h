#ifndef TANGRAM_COMMON_WIRE_RECOMPUTE_WIRE_H_
#define TANGRAM_COMMON_WIRE_RECOMPUTE_WIRE_H_

#include <optional>

#include "absl/status/statusor.h"
#include "common/domain/recompute_masks.h"
#include "tangram/v1/cluster.pb.h"

namespace tangram {

// Empty: unspecified.
v1::LayerRecompute EncodeRecompute(
    const std::optional<LayerRecompute>& recompute);

// Errors: kInvalidArgument naming `field` for an unknown value.
absl::StatusOr<std::optional<LayerRecompute>> DecodeRecompute(
    const char* field, v1::LayerRecompute recompute);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_RECOMPUTE_WIRE_H_
