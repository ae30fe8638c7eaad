#ifndef TANGRAM_COORDINATOR_AUTH_TOKEN_TABLE_H_
#define TANGRAM_COORDINATOR_AUTH_TOKEN_TABLE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/auth/caller.h"

namespace tangram {

// Callers by token or certificate. Stores and finds tokens by their SHA-256, so
// that neither memory nor the time of a look-up reveals them.
class TokenTable {
 public:
  // Reads lines of "token,name,tenant,roles", with roles separated by "|". The
  // tenant may be empty. A line may hold the digest of the token instead,
  // "sha256:<64 hexadecimal digits>", or the name in a client certificate,
  // "cert:<name>". Ignores empty lines and lines that begin with "#". Returns
  // kInvalidArgument naming the line, never the token.
  static absl::StatusOr<TokenTable> Parse(absl::string_view text);

  // Returns the caller; null if there is none.
  const Caller* FindToken(absl::string_view token) const;
  const Caller* FindCertificate(const std::string& name) const;

 private:
  std::map<std::string, Caller> by_digest_;
  std::map<std::string, Caller> by_certificate_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_AUTH_TOKEN_TABLE_H_
