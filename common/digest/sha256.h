#ifndef TANGRAM_COMMON_DIGEST_SHA256_H_
#define TANGRAM_COMMON_DIGEST_SHA256_H_

#include <openssl/types.h>

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <memory>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tangram {

// A SHA-256 digest (NIST FIPS 180-4). It is infeasible to find two texts with
// the same digest.
struct Digest {
  std::array<uint8_t, 32> bytes = {};

  absl::string_view view() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  auto operator<=>(const Digest&) const = default;

  // Any part of a digest is a good hash.
  template <typename H>
  friend H AbslHashValue(H state, const Digest& digest) {
    uint64_t part = 0;
    std::memcpy(&part, digest.bytes.data(), sizeof(part));
    return H::combine(std::move(state), part);
  }
};

// Computes digests one after another, and sets up the library only once. Not
// thread-safe.
class Sha256 {
 public:
  Sha256();
  // Returns one that belongs to the calling thread.
  static Sha256& OfThread();

  Digest operator()(absl::string_view bytes) { return (*this)({&bytes, 1}); }
  // Returns the digest of the parts as one text.
  Digest operator()(absl::Span<const absl::string_view> parts);

 private:
  struct FreeContext {
    void operator()(EVP_MD_CTX* context) const;
  };
  std::unique_ptr<EVP_MD_CTX, FreeContext> context_;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_DIGEST_SHA256_H_
