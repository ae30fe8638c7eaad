#ifndef TANGRAM_COMMON_WIRE_GRPC_STATUS_H_
#define TANGRAM_COMMON_WIRE_GRPC_STATUS_H_

#include "absl/status/status.h"

namespace grpc {
class Status;
}  // namespace grpc

namespace tangram {

// The result has the details of SerializedDetails.
grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_GRPC_STATUS_H_
