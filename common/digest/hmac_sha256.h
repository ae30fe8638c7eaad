#ifndef TANGRAM_COMMON_DIGEST_HMAC_SHA256_H_
#define TANGRAM_COMMON_DIGEST_HMAC_SHA256_H_

#include <string>

#include "absl/strings/string_view.h"

namespace tangram {

// Returns the 32 bytes of HMAC-SHA256 (RFC 2104): only who knows `key` can make
// them.
std::string HmacSha256(absl::string_view key, absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DIGEST_HMAC_SHA256_H_
