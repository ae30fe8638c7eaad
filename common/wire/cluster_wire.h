#ifndef TANGRAM_COMMON_WIRE_CLUSTER_WIRE_H_
#define TANGRAM_COMMON_WIRE_CLUSTER_WIRE_H_

#include "absl/status/statusor.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"

namespace tangram::v1 {
class Cluster;
class DeviceSpec;
class Island;
class IslandSpec;
class Link;
}  // namespace tangram::v1

// Encoding cannot fail. Decoding returns kInvalidArgument with the path of the
// field if no planner could work with a value. Decode(Encode(x)) == x.
namespace tangram {

v1::Link ToProto(const Link& link);
v1::DeviceSpec ToProto(const DeviceSpec& device);
v1::Cluster ToProto(const Cluster& cluster);
v1::IslandSpec ToProto(const IslandSpec& spec);
// Encodes nodes by name.
v1::Island ToProto(const Island& island, const Cluster& cluster);

absl::StatusOr<Link> FromProto(const v1::Link& message);
absl::StatusOr<DeviceSpec> FromProto(const v1::DeviceSpec& message);
absl::StatusOr<Cluster> FromProto(const v1::Cluster& message);
absl::StatusOr<IslandSpec> FromProto(const v1::IslandSpec& message);
absl::StatusOr<Island> FromProto(const v1::Island& message,
                                 const Cluster& cluster);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_CLUSTER_WIRE_H_
