#include "common/digest/sha256.h"

#include <openssl/evp.h>

#include "common/base/check.h"

namespace tangram {
namespace {

// Returns the algorithm, fetched once. A look-up takes longer than hashing a
// question.
const EVP_MD* Algorithm() {
  static const EVP_MD* const algorithm =
      EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return algorithm;
}

}  // namespace

void Sha256::FreeContext::operator()(EVP_MD_CTX* context) const {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  TANGRAM_CHECK(context_ != nullptr && Algorithm() != nullptr);
}

Sha256& Sha256::OfThread() {
  thread_local Sha256 sha256;
  return sha256;
}

Digest Sha256::operator()(absl::Span<const absl::string_view> parts) {
  Digest digest;
  unsigned size = 0;
  TANGRAM_CHECK(EVP_DigestInit_ex2(context_.get(), Algorithm(), nullptr) == 1);
  for (const absl::string_view part : parts) {
    TANGRAM_CHECK(EVP_DigestUpdate(context_.get(), part.data(), part.size()) ==
                  1);
  }
  TANGRAM_CHECK(
      EVP_DigestFinal_ex(context_.get(), digest.bytes.data(), &size) == 1 &&
      size == digest.bytes.size());
  return digest;
}

}  // namespace tangram
