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
  std::string tokens_file;    // As for TokenTable; empty: none.
  std::string web_keys_file;  // As for JsonWebKeys; empty: no web tokens.
  WebTokenRules web_token_rules;
  std::function<double()> unix_now_s;

  bool IsOpen() const { return tokens_file.empty() && web_keys_file.empty(); }
};

// The part of a call that identifies its caller.
struct Credentials {
  absl::string_view authorization;  // "Bearer ..."; empty: none.
  // Names in the certificate that TLS has verified; empty: none.
  std::vector<std::string> certificate_names;
};

// Identifies callers. Reads its files again when they change. Thread-safe.
class Authenticator {
 public:
  // Returns kInvalidArgument naming the flag at fault.
  static absl::StatusOr<std::unique_ptr<Authenticator>> Create(
      const AuthenticatorOptions& options);

  virtual ~Authenticator() = default;

  // Returns the caller that the token names or, without a token, the
  // certificate. Without files, everybody has all roles. kUnauthenticated says
  // what is missing or wrong.
  virtual absl::StatusOr<Caller> Identify(const Credentials& credentials) = 0;
};

// Checks that a caller may call the method of this path. Returns
// kUnauthenticated, kPermissionDenied, or kUnimplemented if there is no such
// method.
absl::Status CheckMayCall(Authenticator& authenticator, absl::string_view path,
                          const Credentials& credentials);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_AUTH_AUTHENTICATOR_H_
