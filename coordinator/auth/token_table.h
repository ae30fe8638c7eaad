#ifndef TANGRAM_COORDINATOR_AUTH_TOKEN_TABLE_H_
#define TANGRAM_COORDINATOR_AUTH_TOKEN_TABLE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/auth/caller.h"

namespace tangram {

// Callers by what they show. Tokens are kept and looked up by their SHA-256, so
// that neither the memory nor the time of a look-up tells them.
class TokenTable {
 public:
  // Lines of "token,name,tenant,roles", the roles separated by "|"; the tenant
  // may be empty. Instead of a token there may be its digest, as
  // "sha256:<64 hexadecimal digits>", or the name in a client's certificate, as
  // "cert:<name>". Empty lines and those that begin with "#" mean nothing.
  // kInvalidArgument names the line, never the token.
  static absl::StatusOr<TokenTable> Parse(absl::string_view text);

  // Null: nobody's.
  const Caller* FindToken(absl::string_view token) const;
  const Caller* FindCertificate(const std::string& name) const;

 private:
  std::map<std::string, Caller> by_digest_;
  std::map<std::string, Caller> by_certificate_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_AUTH_TOKEN_TABLE_H_
