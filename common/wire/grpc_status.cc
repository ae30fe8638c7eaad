#include "common/wire/grpc_status.h"

#include <grpcpp/support/status.h>

#include <string>

#include "common/wire/error_details.h"

namespace tangram {

// Both enumerations have the codes of google.rpc.Code.
static_assert(static_cast<int>(absl::StatusCode::kCancelled) ==
              grpc::StatusCode::CANCELLED);
static_assert(static_cast<int>(absl::StatusCode::kUnauthenticated) ==
              grpc::StatusCode::UNAUTHENTICATED);

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message()), SerializedDetails(status));
}

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

}  // namespace tangram
