#include "common/security/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_interceptor.h>

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/security/refresh.h"
#include "common/security/secret_file.h"

namespace tangram {
namespace {

using grpc::experimental::ClientRpcInfo;
using grpc::experimental::Interceptor;

// Adds the token to each call. Interceptors work on every kind of channel; call
// credentials do not work in plain text.
class TokenSender : public Interceptor {
 public:
  explicit TokenSender(const std::string& token_file)
      : token_file_(token_file) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* call) override {
    if (call->QueryInterceptionHookPoint(
            grpc::experimental::InterceptionHookPoints::
                PRE_SEND_INITIAL_METADATA)) {
      // Without a token the coordinator's error says what is missing.
      const absl::StatusOr<std::string> token =
          ReadTokenFile("token", token_file_);
      if (token.ok()) {
        call->GetSendInitialMetadata()->emplace(
            "authorization", absl::StrCat("Bearer ", *token));
      }
    }
    call->Proceed();
  }

 private:
  const std::string& token_file_;
};

class TokenSenderFactory
    : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit TokenSenderFactory(std::string token_file)
      : token_file_(std::move(token_file)) {}
  Interceptor* CreateClientInterceptor(ClientRpcInfo*) override {
    return new TokenSender(token_file_);
  }

 private:
  const std::string token_file_;
};

std::shared_ptr<grpc::ChannelCredentials> Credentials(const TlsFiles& tls) {
  if (tls.ca_file.empty()) return grpc::InsecureChannelCredentials();
  const auto provider =
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          tls.key_file, tls.cert_file, tls.ca_file, kRefreshIntervalS);
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(provider);
  options.watch_root_certs();
  if (!tls.cert_file.empty()) options.watch_identity_key_cert_pairs();
  return grpc::experimental::TlsCredentials(options);
}

absl::Status Check(const CoordinatorAccess& access, const AccessFlags& flags) {
  TANGRAM_RETURN_IF_ERROR(CheckTlsFiles(access.tls, flags.tls));
  const bool is_encrypted = !access.tls.ca_file.empty();
  if (!access.tls.cert_file.empty() && !is_encrypted) {
    return absl::InvalidArgumentError(absl::StrCat(
        flags.tls.cert_file, ": needs ", flags.tls.ca_file, ", for TLS"));
  }
  if (access.token_file.empty()) return absl::OkStatus();
  TANGRAM_RETURN_IF_ERROR(
      ReadTokenFile(flags.token_file, access.token_file).status());
  if (is_encrypted || StaysOnThisMachine(access.address) ||
      access.allow_plaintext_token) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(flags.token_file, ": would be sent to ", access.address,
                   " in plain text; expected ", flags.tls.ca_file, " or ",
                   flags.allow_plaintext_token));
}

}  // namespace

bool IsLoopback(absl::string_view address) {
  absl::string_view host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "[::1]" ||
         (absl::StartsWith(host, "127.") &&
          host.find_first_not_of("0123456789.") == absl::string_view::npos);
}

bool StaysOnThisMachine(absl::string_view address) {
  return absl::StartsWith(address, "unix:") || IsLoopback(address);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(
    const CoordinatorAccess& access, const AccessFlags& flags,
    grpc::ChannelArguments arguments) {
  TANGRAM_RETURN_IF_ERROR(Check(access, flags));
  // Keeps a proxy from listening in, too.
  if (StaysOnThisMachine(access.address)) {
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  }
  std::vector<
      std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
      interceptors;
  if (!access.token_file.empty()) {
    interceptors.push_back(
        std::make_unique<TokenSenderFactory>(access.token_file));
  }
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      access.address, Credentials(access.tls), arguments,
      std::move(interceptors));
}

}  // namespace tangram
