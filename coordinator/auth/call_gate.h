#ifndef TANGRAM_COORDINATOR_AUTH_CALL_GATE_H_
#define TANGRAM_COORDINATOR_AUTH_CALL_GATE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "coordinator/auth/authenticator.h"

namespace grpc {
class AuthMetadataProcessor;
class ServerContextBase;
}  // namespace grpc

namespace tangram {

// What every call passes before its service learns of it, whatever the service:
// CheckMayCall. `authenticator` must outlive the server.
std::shared_ptr<grpc::AuthMetadataProcessor> CreateCallGate(
    Authenticator& authenticator);

// Who makes a call that has passed.
absl::StatusOr<Caller> CallerOf(Authenticator& authenticator,
                                const grpc::ServerContextBase& context);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_AUTH_CALL_GATE_H_
