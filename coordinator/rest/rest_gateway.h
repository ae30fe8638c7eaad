#ifndef TANGRAM_COORDINATOR_REST_REST_GATEWAY_H_
#define TANGRAM_COORDINATOR_REST_REST_GATEWAY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/http/api_server.h"
#include "common/obs/audit_log.h"
#include "common/security/tls_files.h"
#include "coordinator/auth/authenticator.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace tangram {

struct RestGatewayOptions {
  std::string address;  // As of ApiServer.
  // PEM files of a certificate and its key, for TLS; empty: plain HTTP.
  std::string cert_file;
  std::string key_file;
  // Whether the Host header must name this machine: nobody shows a token, so a
  // page of another site could ask.
  bool only_as_this_machine = false;
  // Told of each call that is refused for its token, which no service sees.
  OnAuditedCall on_refused = [](const AuditedCall&) {};
  HoldAnswer hold_answer;  // As of ApiHandlers.
};

// Checks that tokens do not travel in plain text, and that callers who must
// show a certificate are not let in without.
absl::Status CheckRestAddress(const std::string& address, const TlsFiles& tls,
                              const AuthenticatorOptions& auth);

// Serves the methods of proto/http_rules.json by REST with JSON. Each request
// is a call of a gRPC service in this process, with the limits, quotas and
// answers of any other call. The certificate is read when it starts.
class RestGateway {
 public:
  // Returns kUnavailable if the address cannot be used and kInvalidArgument if
  // a file is at fault. `channel` leads to the server of this process, past its
  // check of roles, which the gateway makes. `authenticator` must outlive the
  // gateway.
  static absl::StatusOr<std::unique_ptr<RestGateway>> Start(
      const RestGatewayOptions& options, std::shared_ptr<grpc::Channel> channel,
      Authenticator& authenticator);

  virtual ~RestGateway() = default;  // Ends calls under way.
  virtual int port() const = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_REST_REST_GATEWAY_H_
