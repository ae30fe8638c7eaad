#include "common/digest/hmac_sha256.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace tangram {

std::string HmacSha256(absl::string_view key, absl::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest,
       &length);
  return std::string(reinterpret_cast<const char*>(digest), length);
}

}  // namespace tangram
