#ifndef TANGRAM_COORDINATOR_RPC_AUDIT_CALLS_H_
#define TANGRAM_COORDINATOR_RPC_AUDIT_CALLS_H_

#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "common/obs/audit_log.h"
#include "coordinator/auth/authenticator.h"

namespace tangram {

// Tells `on_call` of each call. Leaves out probes, and the streams of
// workers, which join and leave in the ordinary log. Calls that are refused
// before they reach a service are not seen here; see CreateCallGate.
// `authenticator` must outlive the server.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
CreateCallAuditor(OnAuditedCall on_call, Authenticator& authenticator);

// Returns the text of the field that says what a serialised request of `method`
// is about: its job_id (perhaps that of its job), name or tenant. Where it
// stands several times, the last counts, as in a parser. Empty: it has none, or
// cannot be read.
std::string TargetOf(absl::string_view method, absl::string_view request);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_AUDIT_CALLS_H_
