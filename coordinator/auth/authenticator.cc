#include "coordinator/auth/authenticator.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "coordinator/auth/json_web_keys.h"
#include "coordinator/auth/method_roles.h"
#include "coordinator/auth/reloading_file.h"
#include "coordinator/auth/token_table.h"

namespace tangram {
namespace {

constexpr absl::string_view kBearer = "Bearer ";

// Used without files: every caller has all roles.
class Open : public Authenticator {
 public:
  absl::StatusOr<Caller> Identify(const Credentials&) override {
    return Caller{.roles = Roles::All()};
  }
};

// Identifies callers by the list of tokens, then as web tokens. Callers without
// a token are identified by their certificate.
class FileAuthenticator : public Authenticator {
 public:
  explicit FileAuthenticator(AuthenticatorOptions options)
      : options_(std::move(options)) {}

  absl::Status ReadFiles() {
    if (!options_.tokens_file.empty()) {
      TANGRAM_ASSIGN_OR_RETURN(
          tokens_,
          ReloadingFile<TokenTable>::Open(
              "--auth_tokens_file", options_.tokens_file, TokenTable::Parse));
    }
    if (options_.web_keys_file.empty()) return absl::OkStatus();
    if (options_.web_token_rules.issuer.empty() ||
        options_.web_token_rules.audience.empty()) {
      return absl::InvalidArgumentError(
          "--jwt_keys_file: needs --jwt_issuer and --jwt_audience");
    }
    TANGRAM_ASSIGN_OR_RETURN(
        web_keys_,
        ReloadingFile<JsonWebKeys>::Open(
            "--jwt_keys_file", options_.web_keys_file, JsonWebKeys::Parse));
    return absl::OkStatus();
  }

  absl::StatusOr<Caller> Identify(const Credentials& credentials) override {
    if (!credentials.authorization.empty()) {
      return IdentifyToken(credentials.authorization);
    }
    if (tokens_ != nullptr) {
      const auto table = tokens_->Get();
      for (const std::string& name : credentials.certificate_names) {
        const Caller* caller = table->FindCertificate(name);
        if (caller != nullptr) return *caller;
      }
    }
    return absl::UnauthenticatedError(
        "authorization: missing; expected \"Bearer TOKEN\"");
  }

 private:
  absl::StatusOr<Caller> IdentifyToken(absl::string_view token) {
    if (!absl::StartsWithIgnoreCase(token, kBearer)) {
      return absl::UnauthenticatedError(
          "authorization: expected \"Bearer TOKEN\"");
    }
    token.remove_prefix(kBearer.size());
    if (tokens_ != nullptr) {
      const auto table = tokens_->Get();
      const Caller* caller = table->FindToken(token);
      if (caller != nullptr) return *caller;
    }
    if (web_keys_ == nullptr || !IsWebToken(token)) {
      return absl::UnauthenticatedError("token: unknown");
    }
    return CallerOfWebToken(token, *web_keys_->Get(), options_.web_token_rules,
                            options_.unix_now_s());
  }

  const AuthenticatorOptions options_;
  std::unique_ptr<ReloadingFile<TokenTable>> tokens_;
  std::unique_ptr<ReloadingFile<JsonWebKeys>> web_keys_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Authenticator>> Authenticator::Create(
    const AuthenticatorOptions& options) {
  if (options.IsOpen()) return std::make_unique<Open>();
  auto authenticator = std::make_unique<FileAuthenticator>(options);
  TANGRAM_RETURN_IF_ERROR(authenticator->ReadFiles());
  return authenticator;
}

absl::Status CheckMayCall(Authenticator& authenticator, absl::string_view path,
                          const Credentials& credentials) {
  const MethodAccess* access = FindMethodAccess(path);
  if (access != nullptr && access->is_public) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(const Caller caller,
                           authenticator.Identify(credentials));
  if (access == nullptr) {
    return absl::UnimplementedError(absl::StrCat(path, ": no such method"));
  }
  if (access->any_of == Roles() || caller.roles.HasAny(access->any_of)) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      absl::StrCat(path, ": needs the role ", ToString(access->any_of),
                   ", which ", caller.name, " does not have"));
}

}  // namespace tangram
