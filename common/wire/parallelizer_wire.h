#ifndef TANGRAM_COMMON_WIRE_PARALLELIZER_WIRE_H_
#define TANGRAM_COMMON_WIRE_PARALLELIZER_WIRE_H_

#include "absl/status/statusor.h"
#include "common/parallelizer/query.h"

namespace tangram::v1 {
class Adapter;
class PairContext;
class PairQuery;
class PerformanceProfile;
class ProfileQuery;
}  // namespace tangram::v1

namespace tangram {

v1::Adapter ToProto(const AdapterInfo& adapter);
absl::StatusOr<AdapterInfo> FromProto(const v1::Adapter& message);

// Encodes a context without the id, which the sender chooses.
v1::PairContext ToProto(const PairContext& context);
absl::StatusOr<PairContext> FromProto(const v1::PairContext& message);

v1::ProfileQuery ToProto(const ProfileQuery& query);
v1::PairQuery ToProto(const PairQuery& query);

v1::PerformanceProfile ToProto(const PerformanceProfile& profile);
absl::StatusOr<PerformanceProfile> FromProto(
    const v1::PerformanceProfile& message);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_PARALLELIZER_WIRE_H_
