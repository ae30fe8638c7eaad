#ifndef TANGRAM_TESTS_UNIT_COORDINATOR_AUTH_SIGNING_KEY_H_
#define TANGRAM_TESTS_UNIT_COORDINATOR_AUTH_SIGNING_KEY_H_

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/check.h"

namespace tangram::testing {

// A fresh private key of an identity provider.
class SigningKey {
 public:
  static SigningKey Rsa(unsigned bits = 2048) {
    return SigningKey(EVP_RSA_gen(bits));
  }
  static SigningKey P256() { return SigningKey(EVP_EC_gen("P-256")); }

  bool is_rsa() const {
    return EVP_PKEY_get_base_id(key_.get()) == EVP_PKEY_RSA;
  }
  std::string algorithm() const { return is_rsa() ? "RS256" : "ES256"; }

  // Returns the public half as a JSON Web Key.
  std::string Jwk(const std::string& id) const {
    if (is_rsa()) {
      return absl::StrCat(R"({"kty":"RSA","use":"sig","kid":")", id,
                          R"(","n":")", Number(OSSL_PKEY_PARAM_RSA_N),
                          R"(","e":")", Number(OSSL_PKEY_PARAM_RSA_E), "\"}");
    }
    return absl::StrCat(R"({"kty":"EC","crv":"P-256","kid":")", id,
                        R"(","x":")", Number(OSSL_PKEY_PARAM_EC_PUB_X),
                        R"(","y":")", Number(OSSL_PKEY_PARAM_EC_PUB_Y), "\"}");
  }

  std::string Sign(const std::string& text) const {
    const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(
        EVP_MD_CTX_new(), EVP_MD_CTX_free);
    TANGRAM_CHECK(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(),
                                     nullptr, key_.get()) == 1);
    std::string signature(EVP_PKEY_get_size(key_.get()), '\0');
    size_t size = signature.size();
    TANGRAM_CHECK(EVP_DigestSign(context.get(), Bytes(signature), &size,
                                 Bytes(text), text.size()) == 1);
    signature.resize(size);
    return is_rsa() ? signature : SideBySide(signature);
  }

  // Returns a JSON Web Token with this header and payload.
  std::string Token(const std::string& header,
                    const std::string& payload) const {
    const std::string text =
        absl::StrCat(absl::WebSafeBase64Escape(header), ".",
                     absl::WebSafeBase64Escape(payload));
    return absl::StrCat(text, ".", absl::WebSafeBase64Escape(Sign(text)));
  }
  std::string Token(const std::string& payload) const {
    return Token(absl::StrCat(R"({"alg":")", algorithm(), "\"}"), payload);
  }

 private:
  explicit SigningKey(EVP_PKEY* key) : key_(key, EVP_PKEY_free) {}

  static unsigned char* Bytes(const std::string& text) {
    return reinterpret_cast<unsigned char*>(const_cast<char*>(text.data()));
  }

  static std::string BytesOf(const BIGNUM* number, int size) {
    std::string bytes(size, '\0');
    BN_bn2binpad(number, Bytes(bytes), size);
    return bytes;
  }

  std::string Number(const char* name) const {
    BIGNUM* number = nullptr;
    TANGRAM_CHECK(EVP_PKEY_get_bn_param(key_.get(), name, &number) == 1);
    const int size = is_rsa() ? BN_num_bytes(number) : 32;
    const std::string bytes = BytesOf(number, size);
    BN_free(number);
    return absl::WebSafeBase64Escape(bytes);
  }

  static std::string SideBySide(const std::string& der) {
    const unsigned char* begin = Bytes(der);
    ECDSA_SIG* signature =
        d2i_ECDSA_SIG(nullptr, &begin, static_cast<long>(der.size()));
    std::string both = BytesOf(ECDSA_SIG_get0_r(signature), 32) +
                       BytesOf(ECDSA_SIG_get0_s(signature), 32);
    ECDSA_SIG_free(signature);
    return both;
  }

  std::shared_ptr<EVP_PKEY> key_;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_COORDINATOR_AUTH_SIGNING_KEY_H_
