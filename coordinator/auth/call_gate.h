#ifndef TANGRAM_COORDINATOR_AUTH_CALL_GATE_H_
#define TANGRAM_COORDINATOR_AUTH_CALL_GATE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/auth/authenticator.h"

namespace grpc {
class AuthMetadataProcessor;
class ServerContextBase;
}  // namespace grpc

namespace tangram {

// Returns a processor that checks every call by CheckMayCall before its service
// sees it. `authenticator` must outlive the server.
std::shared_ptr<grpc::AuthMetadataProcessor> CreateCallGate(
    Authenticator& authenticator);

// Returns the caller of a call that has passed the gate.
absl::StatusOr<Caller> CallerOf(Authenticator& authenticator,
                                const grpc::ServerContextBase& context);

// Returns a name that the caller cannot choose: that of `caller` or, if it has
// none because no file names callers, the first in the certificate that TLS has
// verified. Empty: there is neither.
std::string PrincipalOf(const Caller& caller,
                        const grpc::ServerContextBase& context);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_AUTH_CALL_GATE_H_
