#include "common/wire/mixed_stage_wire.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/wire/field_checks.h"
#include "common/wire/slice_plan_wire.h"
#include "tangram/v1/plan.pb.h"

namespace tangram {
namespace {

absl::StatusOr<StageSharing> DecodeSharing(const std::string& name) {
  for (const StageSharing sharing : kStageSharings) {
    if (name == StageSharingName(sharing)) return sharing;
  }
  return FieldError("sharing", absl::StrCat("\"", name, "\""),
                    absl::StrJoin(kStageSharings, " or ",
                                  [](std::string* out, StageSharing sharing) {
                                    *out += StageSharingName(sharing);
                                  }));
}

absl::StatusOr<ReplicaGroup> FromProto(const v1::ReplicaGroup& message) {
  TANGRAM_RETURN_IF_ERROR(CheckPositive("share", message.share(), kMaxBatch));
  ReplicaGroup group = {.share = message.share()};
  TANGRAM_ASSIGN_OR_RETURN(
      group.parallelism,
      InField("parallelism", tangram::FromProto(message.parallelism())));
  return group;
}

}  // namespace

v1::MixedReplicas ToProto(const MixedReplicas& mixed) {
  v1::MixedReplicas message;
  message.set_sharing(StageSharingName(mixed.sharing));
  for (const ReplicaGroup& group : mixed.groups) {
    v1::ReplicaGroup& encoded = *message.add_groups();
    *encoded.mutable_parallelism() = ToProto(group.parallelism);
    encoded.set_share(group.share);
  }
  return message;
}

absl::StatusOr<MixedReplicas> FromProto(const v1::MixedReplicas& message) {
  MixedReplicas mixed;
  TANGRAM_ASSIGN_OR_RETURN(mixed.sharing, DecodeSharing(message.sharing()));
  TANGRAM_RETURN_IF_ERROR(
      CheckPositive("groups", message.groups_size(), kMaxReplicaGroups));
  for (int g = 0; g < message.groups_size(); ++g) {
    TANGRAM_ASSIGN_OR_RETURN(
        ReplicaGroup group, InField("groups", g, FromProto(message.groups(g))));
    mixed.groups.push_back(std::move(group));
  }
  return mixed;
}

}  // namespace tangram
