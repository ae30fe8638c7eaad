#ifndef TANGRAM_COMMON_SECURITY_SECRET_FILE_H_
#define TANGRAM_COMMON_SECURITY_SECRET_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tangram {

// Returns kInvalidArgument that names the flag and the file: "--tls_key: a.pem:
// has expired".
absl::Status FileError(absl::string_view flag, absl::string_view file,
                       absl::string_view what);

// Reads a small file that a flag names: keys, certificates, tokens.
// kInvalidArgument names the flag and the file, never the content.
absl::StatusOr<std::string> ReadSecretFile(absl::string_view flag,
                                           const std::string& file);

// Reads the one line of such a file: a token for calls.
absl::StatusOr<std::string> ReadTokenFile(absl::string_view flag,
                                          const std::string& file);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SECURITY_SECRET_FILE_H_
