#ifndef TANGRAM_COORDINATOR_AUTH_AUTHENTICATOR_H_
#define TANGRAM_COORDINATOR_AUTH_AUTHENTICATOR_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/auth/caller.h"
#include "coordinator/auth/web_token.h"

namespace tangram {

struct AuthenticatorOptions {
  std::string tokens_file;    // As TokenTable; empty: none.
  std::string web_keys_file;  // As JsonWebKeys; empty: no web tokens.
  WebTokenRules web_token_rules;
  std::function<double()> unix_now_s;

  bool IsOpen() const { return tokens_file.empty() && web_keys_file.empty(); }
};

// What a call shows of the one who makes it.
struct Credentials {
  absl::string_view authorization;  // "Bearer ..."; empty: none.
  // In the certificate that TLS has verified; empty: none.
  std::vector<std::string> certificate_names;
};

// Tells who calls. Files are read again when they change. Thread-safe.
class Authenticator {
 public:
  // kInvalidArgument names the flag at fault.
  static absl::StatusOr<std::unique_ptr<Authenticator>> Create(
      const AuthenticatorOptions& options);

  virtual ~Authenticator() = default;

  // A token, if there is one, otherwise a certificate. Without files everybody
  // may do everything. kUnauthenticated says what is missing or wrong.
  virtual absl::StatusOr<Caller> Identify(const Credentials& credentials) = 0;
};

// kUnauthenticated, kPermissionDenied, or kUnimplemented for a method that does
// not exist.
absl::Status CheckMayCall(Authenticator& authenticator, absl::string_view path,
                          const Credentials& credentials);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_AUTH_AUTHENTICATOR_H_
