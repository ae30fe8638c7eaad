#ifndef TANGRAM_COORDINATOR_RPC_CALLS_OF_CALLERS_H_
#define TANGRAM_COORDINATOR_RPC_CALLS_OF_CALLERS_H_

#include <grpcpp/support/server_interceptor.h>

#include "absl/strings/match.h"

namespace tangram {

// Returns whether interceptors are for a call. They leave out the streams of
// workers, which would pay for them with every message, and calls of gRPC's own
// services: probes, and questions about the services.
inline bool IsCallOfCaller(const grpc::experimental::ServerRpcInfo& info) {
  return info.type() !=
             grpc::experimental::ServerRpcInfo::Type::BIDI_STREAMING &&
         !absl::StartsWith(info.method(), "/grpc.");
}

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_CALLS_OF_CALLERS_H_
