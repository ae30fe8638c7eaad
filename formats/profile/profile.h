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

// One batch size of what a ProfileEntry measured.
struct ProfilePoint {
  int samples = 0;  // Of one replica.
  double forward_s = 0;
  double backward_s = 0;  // Without recomputation.
  std::optional<double> saved_bytes;
  bool operator==(const ProfilePoint&) const = default;
};

// One layer, or one operator of it, cut in one way, on one GPU.
struct ProfileEntry {
  int model = 0;             // Index into Profile::models.
  int layer = 0;             // Index into ModelSpec::layers.
  std::optional<OpKind> op;  // Empty: the whole layer.
  Precision precision = Precision::kFp16;
  int sequence_length = 0;
  // tp, cp and ep degree and sequence parallelism; the rest stays as it is.
  StageParallelism parallelism;
  bool flash_attention = false;
  // Of a layer: its tp, cp and ep collectives are in the times.
  bool collectives_included = false;
  std::vector<ProfilePoint> points;  // At least one; samples rising.
  // Of a layer, unsharded by data parallelism.
  std::optional<double> optimizer_s;
  std::optional<double> state_bytes;
  bool operator==(const ProfileEntry&) const = default;
};

// The product of an m×k and a k×n matrix.
struct ProfiledGemm {
  int m = 0;
  int k = 0;
  int n = 0;
  Precision precision = Precision::kFp16;
  double seconds = 0;
  bool operator==(const ProfiledGemm&) const = default;
};

// How nodes of the profile's GPU type are wired.
struct ProfileLink {
  std::string to;  // GPU type of the other node; empty: inside a node.
  Link link;
  bool operator==(const ProfileLink&) const = default;
};

// What was measured of one GPU type (docs/profile-file.md).
struct Profile {
  std::string device;     // DeviceSpec::type.
  std::string source;     // For people.
  std::string framework;  // For people.
  std::vector<ModelSpec> models;
  std::vector<ProfileEntry> entries;
  std::vector<ProfiledGemm> gemms;
  std::vector<MeasuredCollective> collectives;  // One of a kind.
  std::vector<ProfileLink> links;               // One to each type.
  // What the runtime takes of a GPU before the first tensor.
  std::optional<double> context_bytes;
};

inline const LayerSpec& LayerOf(const Profile& profile,
                                const ProfileEntry& entry) {
  return profile.models[entry.model].layers[entry.layer];
}

}  // namespace tangram

#endif  // TANGRAM_FORMATS_PROFILE_PROFILE_H_
