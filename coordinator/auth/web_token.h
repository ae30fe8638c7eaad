#ifndef TANGRAM_COORDINATOR_AUTH_WEB_TOKEN_H_
#define TANGRAM_COORDINATOR_AUTH_WEB_TOKEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/auth/caller.h"
#include "coordinator/auth/json_web_keys.h"

namespace tangram {

// Claims that tokens must hold, besides being signed.
struct WebTokenRules {
  std::string issuer;    // Must equal "iss".
  std::string audience;  // Must be among "aud".
};

// Returns whether a token has the three parts of a JSON Web Token.
bool IsWebToken(absl::string_view token);

// Returns the caller that a signed JSON Web Token (RFC 7519) names. "sub" is
// the name, "tenant" the tenant, and "roles" a list or words separated by
// spaces. `now_s`, in seconds since 1970, must lie between "nbf" (if given) and
// "exp", give or take 30 s. kUnauthenticated says what is wrong.
absl::StatusOr<Caller> CallerOfWebToken(absl::string_view token,
                                        const JsonWebKeys& keys,
                                        const WebTokenRules& rules,
                                        double now_s);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_AUTH_WEB_TOKEN_H_
