#include "common/wire/constraints_wire.h"

#include <string>
#include <vector>

#include "common/base/status_macros.h"
#include "common/wire/field_checks.h"
#include "common/wire/recompute_wire.h"
#include "common/wire/schedule_wire.h"
#include "tangram/v1/plan.pb.h"

namespace tangram {
namespace {

using Names = google::protobuf::RepeatedPtrField<std::string>;
using Values = google::protobuf::RepeatedPtrField<v1::IslandValue>;

void Encode(const std::vector<IslandValue>& values, Values& messages) {
  for (const IslandValue& value : values) {
    v1::IslandValue& message = *messages.Add();
    message.set_island(value.island);
    message.set_value(value.value);
  }
}

absl::StatusOr<std::vector<std::string>> DecodeNames(const char* field,
                                                     const Names& names) {
  TANGRAM_RETURN_IF_ERROR(CheckCount(field, names.size(), kMaxNodes));
  for (int i = 0; i < names.size(); ++i) {
    TANGRAM_RETURN_IF_ERROR(InField(field, i, CheckName("name", names[i])));
  }
  return std::vector<std::string>(names.begin(), names.end());
}

absl::StatusOr<std::vector<IslandValue>> DecodeValues(const char* field,
                                                      const Values& messages) {
  TANGRAM_RETURN_IF_ERROR(CheckCount(field, messages.size(), kMaxGroups));
  std::vector<IslandValue> values;
  for (int i = 0; i < messages.size(); ++i) {
    const v1::IslandValue& message = messages[i];
    TANGRAM_RETURN_IF_ERROR(InField(
        field, i,
        FirstError({CheckLabel("island", message.island()),
                    CheckPositive("value", message.value(), kMaxGpus)})));
    values.push_back({.island = message.island(), .value = message.value()});
  }
  return values;
}

absl::StatusOr<std::vector<LayerPin>> DecodePins(
    const google::protobuf::RepeatedPtrField<v1::LayerPin>& messages) {
  TANGRAM_RETURN_IF_ERROR(CheckCount("pins", messages.size(), kMaxLayers));
  std::vector<LayerPin> pins;
  for (int i = 0; i < messages.size(); ++i) {
    const v1::LayerPin& message = messages[i];
    TANGRAM_RETURN_IF_ERROR(InField(
        "pins", i,
        FirstError(
            {CheckIndex("first_layer", message.first_layer(), kMaxLayers),
             CheckIndex("last_layer", message.last_layer(), kMaxLayers),
             CheckName("island", message.island())})));
    pins.push_back({.first_layer = message.first_layer(),
                    .last_layer = message.last_layer(),
                    .island = message.island()});
  }
  return pins;
}

}  // namespace

v1::PlanConstraints ToProto(const PlanConstraints& constraints) {
  v1::PlanConstraints message;
  message.mutable_exclude_nodes()->Assign(constraints.exclude_nodes.begin(),
                                          constraints.exclude_nodes.end());
  message.mutable_exclude_islands()->Assign(constraints.exclude_islands.begin(),
                                            constraints.exclude_islands.end());
  Encode(constraints.tp_degrees, *message.mutable_tp_degrees());
  Encode(constraints.dp_degrees, *message.mutable_dp_degrees());
  Encode(constraints.cp_degrees, *message.mutable_cp_degrees());
  Encode(constraints.max_stages, *message.mutable_max_stages());
  for (const LayerPin& pin : constraints.pins) {
    v1::LayerPin& pinned = *message.add_pins();
    pinned.set_first_layer(pin.first_layer);
    pinned.set_last_layer(pin.last_layer);
    pinned.set_island(pin.island);
  }
  message.set_runtime(constraints.runtime);
  message.set_recompute(EncodeRecompute(constraints.recompute));
  if (constraints.pp_degree > 0) message.set_pp_degree(constraints.pp_degree);
  if (constraints.ep_degree > 0) message.set_ep_degree(constraints.ep_degree);
  if (constraints.zero_stage.has_value()) {
    message.set_zero_stage(*constraints.zero_stage);
  }
  if (constraints.zero_degree > 0) {
    message.set_zero_degree(constraints.zero_degree);
  }
  if (constraints.schedule.has_value()) {
    message.set_schedule(ScheduleName(*constraints.schedule));
  }
  if (constraints.virtual_stages > 0) {
    message.set_virtual_stages(constraints.virtual_stages);
  }
  return message;
}

absl::StatusOr<PlanConstraints> FromProto(const v1::PlanConstraints& message) {
  PlanConstraints constraints{.runtime = message.runtime(),
                              .pp_degree = message.pp_degree(),
                              .virtual_stages = message.virtual_stages(),
                              .ep_degree = message.ep_degree(),
                              .zero_degree = message.zero_degree()};
  if (message.has_zero_stage()) constraints.zero_stage = message.zero_stage();
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckNotNegative("pp_degree", message.pp_degree(), kMaxGpus),
       CheckNotNegative("ep_degree", message.ep_degree(), kMaxGpus),
       CheckNotNegative("zero_stage", message.zero_stage(), 3),
       CheckNotNegative("zero_degree", message.zero_degree(), kMaxGpus),
       CheckNotNegative("virtual_stages", message.virtual_stages(),
                        kMaxLayers)}));
  if (!message.schedule().empty()) {
    TANGRAM_ASSIGN_OR_RETURN(
        constraints.schedule,
        DecodeScheduleName("schedule", message.schedule()));
  }
  TANGRAM_RETURN_IF_ERROR(CheckLabel("runtime", message.runtime()));
  TANGRAM_ASSIGN_OR_RETURN(
      constraints.exclude_nodes,
      DecodeNames("exclude_nodes", message.exclude_nodes()));
  TANGRAM_ASSIGN_OR_RETURN(
      constraints.exclude_islands,
      DecodeNames("exclude_islands", message.exclude_islands()));
  TANGRAM_ASSIGN_OR_RETURN(constraints.tp_degrees,
                           DecodeValues("tp_degrees", message.tp_degrees()));
  TANGRAM_ASSIGN_OR_RETURN(constraints.dp_degrees,
                           DecodeValues("dp_degrees", message.dp_degrees()));
  TANGRAM_ASSIGN_OR_RETURN(constraints.cp_degrees,
                           DecodeValues("cp_degrees", message.cp_degrees()));
  TANGRAM_ASSIGN_OR_RETURN(constraints.recompute,
                           DecodeRecompute("recompute", message.recompute()));
  TANGRAM_ASSIGN_OR_RETURN(constraints.max_stages,
                           DecodeValues("max_stages", message.max_stages()));
  TANGRAM_ASSIGN_OR_RETURN(constraints.pins, DecodePins(message.pins()));
  return constraints;
}

}  // namespace tangram
