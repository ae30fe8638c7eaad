#ifndef TANGRAM_FORMATS_PROFILE_PROFILE_H_
#define TANGRAM_FORMATS_PROFILE_PROFILE_H_

#include <optional>
#include <string>
#include <vector>

#include "common/domain/cluster.h"
#include "common/domain/device.h"
#include "common/domain/measurements.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// A ProfileEntry's measurement at one batch size.
struct ProfilePoint {
  int samples = 0;        // Samples of one data-parallel replica.
  double forward_s = 0;   // Time of a forward pass.
  double backward_s = 0;  // Time of a backward pass without recomputation.
  std::optional<double> saved_bytes;  // Activations kept for the backward pass.
  bool operator==(const ProfilePoint&) const = default;
};

// Measurements of one layer, or of one of its operators, on one GPU, with one
// set of degrees.
struct ProfileEntry {
  int model = 0;             // Index into Profile::models.
  int layer = 0;             // Index into ModelSpec::layers.
  std::optional<OpKind> op;  // Empty: the whole layer.
  Precision precision = Precision::kFp16;
  int sequence_length = 0;  // Tokens.
  // Sets tp, cp and ep degree and sequence parallelism; other members are
  // default.
  StageParallelism parallelism;
  bool flash_attention = false;
  // The times of a layer include its tp, cp and ep collectives.
  bool collectives_included = false;
  std::vector<ProfilePoint> points;  // At least one; samples rising.
  // Only layers have these; not sharded by data parallelism.
  std::optional<double> optimizer_s;  // Time of an optimizer step.
  std::optional<double> state_bytes;  // Weights, gradients, optimizer state.
  bool operator==(const ProfileEntry&) const = default;
};

// A measured product of an m×k and a k×n matrix.
struct ProfiledGemm {
  int m = 0;
  int k = 0;
  int n = 0;
  Precision precision = Precision::kFp16;
  double seconds = 0;
  bool operator==(const ProfiledGemm&) const = default;
};

// A link of the nodes with the profile's GPU type.
struct ProfileLink {
  std::string to;  // GPU type of the other node; empty: inside a node.
  Link link;
  bool operator==(const ProfileLink&) const = default;
};

// Measurements of one GPU type (docs/profile-file.md).
struct Profile {
  std::string device;     // DeviceSpec::type.
  std::string source;     // For people.
  std::string framework;  // For people.
  std::vector<ModelSpec> models;
  std::vector<ProfileEntry> entries;
  std::vector<ProfiledGemm> gemms;
  std::vector<MeasuredCollective> collectives;  // One table of a kind.
  std::vector<ProfileLink> links;               // One link to each type.
  // Bytes of a GPU that the runtime takes before the first tensor.
  std::optional<double> context_bytes;
};

inline const LayerSpec& LayerOf(const Profile& profile,
                                const ProfileEntry& entry) {
  return profile.models[entry.model].layers[entry.layer];
}

}  // namespace tangram

#endif  // TANGRAM_FORMATS_PROFILE_PROFILE_H_
