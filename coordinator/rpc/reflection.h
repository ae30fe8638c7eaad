#ifndef TANGRAM_COORDINATOR_RPC_REFLECTION_H_
#define TANGRAM_COORDINATOR_RPC_REFLECTION_H_

#include <grpcpp/server_builder.h>

namespace tangram {

// Keeps gRPC reflection from a server. A program that links gRPC's library for
// it serves it on each port otherwise, and it parses requests of any size.
void LeaveOutReflection(grpc::ServerBuilder& builder);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_REFLECTION_H_
