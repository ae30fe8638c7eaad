#ifndef TANGRAM_COORDINATOR_AUTH_WEB_TOKEN_H_
#define TANGRAM_COORDINATOR_AUTH_WEB_TOKEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/auth/caller.h"
#include "coordinator/auth/json_web_keys.h"

namespace tangram {

// What tokens must say beside being signed.
struct WebTokenRules {
  std::string issuer;    // "iss"
  std::string audience;  // Among "aud".
};

// Whether it looks like a JSON Web Token at all: three parts.
bool IsWebToken(absl::string_view token);

// The caller that a signed JSON Web Token (RFC 7519) speaks of: "sub" is his
// name, "tenant" his tenant, "roles" a list or words separated by spaces. It
// must be within "nbf" (if given) and "exp" at `now_s`, seconds since 1970,
// give or take half a minute. kUnauthenticated says what is wrong.
absl::StatusOr<Caller> CallerOfWebToken(absl::string_view token,
                                        const JsonWebKeys& keys,
                                        const WebTokenRules& rules,
                                        double now_s);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_AUTH_WEB_TOKEN_H_
