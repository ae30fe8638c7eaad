#include "coordinator/auth/call_gate.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/server_context.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "common/wire/grpc_status.h"

namespace tangram {
namespace {

using Metadata = grpc::AuthMetadataProcessor::InputMetadata;

// The peer of a call by Server::InProcessChannel. A network has another.
constexpr absl::string_view kInProcess = "unknown";

absl::string_view Find(const Metadata& metadata, const char* name) {
  const auto it = metadata.find(name);
  if (it == metadata.end()) return "";
  return {it->second.data(), it->second.size()};
}

// Returns the common name and alternative names of a certificate that TLS has
// verified.
std::vector<std::string> CertificateNames(const grpc::AuthContext& context) {
  std::vector<std::string> names;
  for (const char* property :
       {GRPC_X509_CN_PROPERTY_NAME, GRPC_X509_SAN_PROPERTY_NAME}) {
    for (const grpc::string_ref& value : context.FindPropertyValues(property)) {
      names.emplace_back(value.data(), value.size());
    }
  }
  return names;
}

// Returns the name of the caller or, if it has none, the first of the
// certificate that TLS has verified. Empty: there is neither.
std::string NameOf(const Caller& caller,
                   const std::vector<std::string>& certificate_names) {
  if (!caller.name.empty() || certificate_names.empty()) return caller.name;
  return certificate_names.front();
}

class CallGate : public grpc::AuthMetadataProcessor {
 public:
  CallGate(Authenticator& authenticator, OnAuditedCall on_refused)
      : authenticator_(authenticator), on_refused_(std::move(on_refused)) {}

  // Not blocking, because a check takes microseconds.
  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata,
                       grpc::AuthContext* context, OutputMetadata*,
                       OutputMetadata*) override {
    const absl::string_view path = Find(metadata, ":path");
    const Credentials credentials{
        .authorization = Find(metadata, "authorization"),
        .certificate_names = CertificateNames(*context)};
    const absl::Status status = CheckMayCall(authenticator_, path, credentials);
    if (!status.ok() && on_refused_) {
      on_refused_(AuditedCallOf(authenticator_, path, credentials, /*peer=*/"",
                                status));
    }
    return ToGrpc(status);
  }

 private:
  Authenticator& authenticator_;
  const OnAuditedCall on_refused_;
};

}  // namespace

std::shared_ptr<grpc::AuthMetadataProcessor> CreateCallGate(
    Authenticator& authenticator, OnAuditedCall on_refused) {
  return std::make_shared<CallGate>(authenticator, std::move(on_refused));
}

AuditedCall AuditedCallOf(Authenticator& authenticator, absl::string_view path,
                          const Credentials& credentials,
                          absl::string_view peer, const absl::Status& status) {
  Caller caller = authenticator.Identify(credentials).value_or(Caller());
  return {
      .method = std::string(path),
      .caller = NameOf(caller, credentials.certificate_names),
      .tenant = std::move(caller.tenant),
      .peer = std::string(peer),
      .code = absl::AsciiStrToLower(absl::StatusCodeToString(status.code()))};
}

absl::StatusOr<Caller> CallerOf(Authenticator& authenticator,
                                const grpc::ServerContextBase& context) {
  const auto connection = context.auth_context();
  return authenticator.Identify(
      {.authorization = Find(context.client_metadata(), "authorization"),
       .certificate_names = connection == nullptr
                                ? std::vector<std::string>()
                                : CertificateNames(*connection)});
}

std::string PeerOf(const grpc::ServerContextBase& context) {
  std::string peer = context.peer();
  if (peer != kInProcess) return peer;
  const absl::string_view passed_on =
      Find(context.client_metadata(), kPassedOnPeer);
  return passed_on.empty() ? peer : std::string(passed_on);
}

std::string PrincipalOf(const Caller& caller,
                        const grpc::ServerContextBase& context) {
  const auto connection = context.auth_context();
  const bool is_verified =
      connection != nullptr && connection->IsPeerAuthenticated();
  return NameOf(caller, is_verified ? CertificateNames(*connection)
                                    : std::vector<std::string>());
}

}  // namespace tangram
