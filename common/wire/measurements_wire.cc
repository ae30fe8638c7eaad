#include "common/wire/measurements_wire.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/domain/figure_limits.h"
#include "common/wire/field_checks.h"

namespace tangram {
namespace {

// Limit of samples, ranks and nodes of a measurement, far above any that
// exists.
constexpr int kMaxCount = 1 << 24;

v1::CollectiveOp ToProto(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllReduce:
      return v1::COLLECTIVE_OP_ALL_REDUCE;
    case CollectiveOp::kAllGather:
      return v1::COLLECTIVE_OP_ALL_GATHER;
    case CollectiveOp::kReduceScatter:
      return v1::COLLECTIVE_OP_REDUCE_SCATTER;
    case CollectiveOp::kAllToAll:
      return v1::COLLECTIVE_OP_ALL_TO_ALL;
    case CollectiveOp::kPointToPoint:
      return v1::COLLECTIVE_OP_POINT_TO_POINT;
  }
  return v1::COLLECTIVE_OP_UNSPECIFIED;
}

absl::StatusOr<CollectiveOp> FromProto(v1::CollectiveOp op) {
  switch (op) {
    case v1::COLLECTIVE_OP_ALL_REDUCE:
      return CollectiveOp::kAllReduce;
    case v1::COLLECTIVE_OP_ALL_GATHER:
      return CollectiveOp::kAllGather;
    case v1::COLLECTIVE_OP_REDUCE_SCATTER:
      return CollectiveOp::kReduceScatter;
    case v1::COLLECTIVE_OP_ALL_TO_ALL:
      return CollectiveOp::kAllToAll;
    case v1::COLLECTIVE_OP_POINT_TO_POINT:
      return CollectiveOp::kPointToPoint;
    default:
      return FieldError("op", std::to_string(op), "a known operation");
  }
}

v1::MeasuredLayer ToProto(const MeasuredLayer& layer) {
  v1::MeasuredLayer message;
  message.set_key(layer.key);
  message.set_samples(layer.samples);
  message.set_forward_s(layer.forward_s);
  message.set_backward_s(layer.backward_s);
  message.set_collectives_included(layer.collectives_included);
  if (layer.saved_bytes) message.set_saved_bytes(*layer.saved_bytes);
  if (layer.optimizer_s) message.set_optimizer_s(*layer.optimizer_s);
  if (layer.state_bytes) message.set_state_bytes(*layer.state_bytes);
  return message;
}

absl::StatusOr<MeasuredLayer> FromProto(const v1::MeasuredLayer& message) {
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckPositive("samples", message.samples(), kMaxCount),
       CheckWithin("forward_s", message.forward_s(), 0, kMaxMeasuredS),
       CheckWithin("backward_s", message.backward_s(), 0, kMaxMeasuredS),
       CheckWithin("saved_bytes", message.saved_bytes(), 0, kMaxMemoryBytes),
       CheckWithin("optimizer_s", message.optimizer_s(), 0, kMaxMeasuredS),
       CheckWithin("state_bytes", message.state_bytes(), 0, kMaxMemoryBytes)}));
  MeasuredLayer layer = {
      .key = message.key(),
      .samples = message.samples(),
      .forward_s = message.forward_s(),
      .backward_s = message.backward_s(),
      .collectives_included = message.collectives_included()};
  if (message.has_saved_bytes()) layer.saved_bytes = message.saved_bytes();
  if (message.has_optimizer_s()) layer.optimizer_s = message.optimizer_s();
  if (message.has_state_bytes()) layer.state_bytes = message.state_bytes();
  return layer;
}

v1::MeasuredCollective ToProto(const MeasuredCollective& table) {
  v1::MeasuredCollective message;
  message.set_op(ToProto(table.op));
  message.set_ranks(table.ranks);
  message.set_nodes(table.nodes);
  for (const CollectivePoint& point : table.points) {
    message.add_bytes(point.bytes);
    message.add_seconds(point.seconds);
  }
  return message;
}

absl::StatusOr<MeasuredCollective> FromProto(
    const v1::MeasuredCollective& message) {
  MeasuredCollective table = {.ranks = message.ranks(),
                              .nodes = message.nodes()};
  TANGRAM_ASSIGN_OR_RETURN(table.op, FromProto(message.op()));
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckPositive("ranks", table.ranks, kMaxCount),
                  CheckPositive("nodes", table.nodes, kMaxCount)}));
  if (message.bytes_size() == 0 ||
      message.bytes_size() != message.seconds_size()) {
    return FieldError("bytes", std::to_string(message.bytes_size()),
                      "as many as seconds, at least one");
  }
  double least = 0;
  for (int i = 0; i < message.bytes_size(); ++i) {
    TANGRAM_RETURN_IF_ERROR(FirstError(
        {CheckWithin("bytes", message.bytes(i), kLeastBytes, kMaxMemoryBytes),
         CheckPositive("seconds", message.seconds(i))}));
    if (message.bytes(i) <= least) {
      return FieldError("bytes", std::to_string(message.bytes(i)),
                        "rising sizes");
    }
    least = message.bytes(i);
    table.points.push_back({message.bytes(i), message.seconds(i)});
  }
  return table;
}

// Appends an entry if it comes after the others. Lookups rely on the order, in
// which `key` counts first.
template <typename Message, typename T>
absl::Status AddInOrder(const Message& message, absl::string_view key,
                        std::vector<T>& all) {
  TANGRAM_ASSIGN_OR_RETURN(T next, FromProto(message));
  if (!all.empty() && !ComesBefore(all.back(), next)) {
    return FieldError(key, "out of order", "ascending entries");
  }
  all.push_back(std::move(next));
  return absl::OkStatus();
}

}  // namespace

void MeasurementsToProto(const DeviceSpec& device, v1::DeviceSpec& message) {
  for (const MeasuredLayer& layer : device.measured_layers) {
    *message.add_measured_layers() = ToProto(layer);
  }
  for (const MeasuredCollective& table : device.collectives) {
    *message.add_collectives() = ToProto(table);
  }
}

absl::Status MeasurementsFromProto(const v1::DeviceSpec& message,
                                   DeviceSpec& device) {
  std::vector<MeasuredLayer> layers;
  for (int i = 0; i < message.measured_layers_size(); ++i) {
    TANGRAM_RETURN_IF_ERROR(
        InField("measured_layers", i,
                AddInOrder(message.measured_layers(i), "key", layers)));
  }
  std::vector<MeasuredCollective> collectives;
  for (int i = 0; i < message.collectives_size(); ++i) {
    TANGRAM_RETURN_IF_ERROR(
        InField("collectives", i,
                AddInOrder(message.collectives(i), "op", collectives)));
  }
  device.measured_layers = std::move(layers);
  device.collectives = std::move(collectives);
  return absl::OkStatus();
}

}  // namespace tangram
