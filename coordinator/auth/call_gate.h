#ifndef TANGRAM_COORDINATOR_AUTH_CALL_GATE_H_
#define TANGRAM_COORDINATOR_AUTH_CALL_GATE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/obs/audit_log.h"
#include "coordinator/auth/authenticator.h"

namespace grpc {
class AuthMetadataProcessor;
class ServerContextBase;
}  // namespace grpc

namespace tangram {

// Returns a processor that checks every call by CheckMayCall before its service
// sees it. `authenticator` must outlive the server. `on_refused` is told of the
// others; it may be null.
std::shared_ptr<grpc::AuthMetadataProcessor> CreateCallGate(
    Authenticator& authenticator, OnAuditedCall on_refused = nullptr);

// Returns what the record says of a call that no service sees: by whom, if the
// token is good or TLS has verified a certificate, and how it ended. The path
// may be anything. `peer` may be empty: not known.
AuditedCall AuditedCallOf(Authenticator& authenticator, absl::string_view path,
                          const Credentials& credentials,
                          absl::string_view peer, const absl::Status& status);

// Returns the caller of a call that has passed the gate.
absl::StatusOr<Caller> CallerOf(Authenticator& authenticator,
                                const grpc::ServerContextBase& context);

// Metadata with the address of the caller, on calls that this process passes on
// to itself. It says nothing on any others.
inline constexpr char kPassedOnPeer[] = "x-tangram-peer";

// Returns the address of the caller, as gRPC writes it.
std::string PeerOf(const grpc::ServerContextBase& context);

// Returns a name that the caller cannot choose: that of `caller` or, if it has
// none because no file names callers, the first in the certificate that TLS has
// verified. Empty: there is neither.
std::string PrincipalOf(const Caller& caller,
                        const grpc::ServerContextBase& context);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_AUTH_CALL_GATE_H_
