#ifndef TANGRAM_COMMON_SECURITY_SECRET_FILE_H_
#define TANGRAM_COMMON_SECURITY_SECRET_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tangram {

// A small file that a flag names: keys, certificates, tokens. kInvalidArgument
// names the flag and the file, never what is in it.
absl::StatusOr<std::string> ReadSecretFile(absl::string_view flag,
                                           const std::string& file);

// The one line of such a file: a token to call with.
absl::StatusOr<std::string> ReadTokenFile(absl::string_view flag,
                                          const std::string& file);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SECURITY_SECRET_FILE_H_
