#include "common/security/listening.h"

#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/security/channel.h"
#include "common/security/refresh.h"

namespace tangram {
namespace {

std::shared_ptr<grpc::ServerCredentials> TlsCredentials(const TlsFiles& tls) {
  const auto provider =
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          tls.key_file, tls.cert_file, tls.ca_file, kRefreshIntervalS);
  grpc::experimental::TlsServerCredentialsOptions options(provider);
  options.watch_identity_key_cert_pairs();
  if (!tls.ca_file.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ListeningCredentials(
    const std::string& address, const TlsFiles& tls,
    const std::shared_ptr<grpc::AuthMetadataProcessor>& gate) {
  TANGRAM_RETURN_IF_ERROR(CheckTlsFiles(tls, TlsFlags()));
  std::shared_ptr<grpc::ServerCredentials> credentials;
  if (!tls.cert_file.empty()) {
    credentials = TlsCredentials(tls);
  } else if (!tls.ca_file.empty()) {
    return absl::InvalidArgumentError(
        "--tls_ca_file: needs --tls_cert_file and --tls_key_file");
  } else if (gate == nullptr) {
    return grpc::InsecureServerCredentials();
  } else if (!StaysOnThisMachine(address)) {
    return FieldError(
        "--listen",
        absl::StrCat(address, ": callers would send tokens in plain text"),
        "--tls_cert_file or an address of this machine alone");
  } else {
    // Local credentials are plain text too, but accept a gate.
    credentials = grpc::experimental::LocalServerCredentials(
        absl::StartsWith(address, "unix:") ? UDS : LOCAL_TCP);
  }
  if (gate != nullptr) credentials->SetAuthMetadataProcessor(gate);
  return credentials;
}

}  // namespace tangram
