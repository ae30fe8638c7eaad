#include "coordinator/auth/json_web_keys.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/wire/field_checks.h"
#include "coordinator/auth/json_text.h"
#include "nlohmann/json.hpp"

namespace tangram {
namespace {

using Json = nlohmann::json;

// NIST SP 800-131A and RFC 7518, 3.3, refuse shorter keys.
constexpr int kMinRsaBits = 2048;
constexpr size_t kP256Bytes = 32;  // Bytes of a coordinate (RFC 7518, 3.4).
constexpr char kUncompressedPoint = 4;  // SEC 1, 2.3.3.

struct Freer {
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(OSSL_PARAM_BLD* builder) const {
    OSSL_PARAM_BLD_free(builder);
  }
  void operator()(OSSL_PARAM* params) const { OSSL_PARAM_free(params); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(ECDSA_SIG* signature) const { ECDSA_SIG_free(signature); }
};
template <typename T>
using Owned = std::unique_ptr<T, Freer>;
using KeyPointer = std::shared_ptr<EVP_PKEY>;

const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Owned<BIGNUM> Number(absl::string_view bytes) {
  return Owned<BIGNUM>(
      BN_bin2bn(Bytes(bytes), static_cast<int>(bytes.size()), nullptr));
}

absl::StatusOr<std::string> Decode(const Json& object, const char* name) {
  std::string bytes;
  if (absl::WebSafeBase64Unescape(TextOf(object, name), &bytes) &&
      !bytes.empty()) {
    return bytes;
  }
  return FieldError(name, "missing or malformed", "base64url");
}

// Returns null if OpenSSL refuses the numbers as a key.
KeyPointer MakeKey(const char* type, OSSL_PARAM_BLD* numbers) {
  const Owned<OSSL_PARAM> params(OSSL_PARAM_BLD_to_param(numbers));
  const Owned<EVP_PKEY_CTX> context(
      EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (params != nullptr && EVP_PKEY_fromdata_init(context.get()) == 1) {
    EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get());
  }
  ERR_clear_error();
  return KeyPointer(key, [](EVP_PKEY* owned) { EVP_PKEY_free(owned); });
}

absl::StatusOr<KeyPointer> RsaKey(const Json& object) {
  TANGRAM_ASSIGN_OR_RETURN(const std::string n, Decode(object, "n"));
  TANGRAM_ASSIGN_OR_RETURN(const std::string e, Decode(object, "e"));
  const Owned<BIGNUM> modulus = Number(n);
  const Owned<BIGNUM> exponent = Number(e);
  // With an exponent of 1, anyone can sign.
  if (BN_is_odd(exponent.get()) == 0 || BN_is_one(exponent.get()) == 1) {
    return FieldError("e", "even or 1", "an odd number from 3 on");
  }
  const Owned<OSSL_PARAM_BLD> numbers(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_BN(numbers.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  OSSL_PARAM_BLD_push_BN(numbers.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  KeyPointer key = MakeKey("RSA", numbers.get());
  if (key != nullptr && EVP_PKEY_get_bits(key.get()) >= kMinRsaBits) return key;
  return FieldError("n", absl::StrCat(8 * n.size(), " bits"),
                    absl::StrCat("an RSA key of at least ", kMinRsaBits));
}

absl::StatusOr<KeyPointer> EllipticKey(const Json& object) {
  TANGRAM_ASSIGN_OR_RETURN(const std::string x, Decode(object, "x"));
  TANGRAM_ASSIGN_OR_RETURN(const std::string y, Decode(object, "y"));
  const std::string point = std::string(1, kUncompressedPoint) + x + y;
  const Owned<OSSL_PARAM_BLD> numbers(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_utf8_string(numbers.get(), OSSL_PKEY_PARAM_GROUP_NAME,
                                  "prime256v1", 0);
  OSSL_PARAM_BLD_push_octet_string(numbers.get(), OSSL_PKEY_PARAM_PUB_KEY,
                                   point.data(), point.size());
  KeyPointer key = MakeKey("EC", numbers.get());
  if (key != nullptr) return key;
  return FieldError("x", "no point", "a point of the curve P-256");
}

// Returns the algorithm that the key is for; empty if it is not RS256 or ES256.
std::string AlgorithmOf(const Json& object) {
  const std::string use = TextOf(object, "use");
  std::string algorithm;
  if (TextOf(object, "kty") == "RSA") algorithm = "RS256";
  if (TextOf(object, "kty") == "EC" && TextOf(object, "crv") == "P-256") {
    algorithm = "ES256";
  }
  const std::string stated = TextOf(object, "alg");
  const bool is_ours =
      (use.empty() || use == "sig") && (stated.empty() || stated == algorithm);
  return is_ours ? algorithm : "";
}

// Converts a signature to DER, which OpenSSL needs. JSON Web Signatures hold
// the two numbers side by side.
std::optional<std::string> DerSignature(absl::string_view raw) {
  if (raw.size() != 2 * kP256Bytes) return std::nullopt;
  const Owned<ECDSA_SIG> signature(ECDSA_SIG_new());
  ECDSA_SIG_set0(signature.get(), Number(raw.substr(0, kP256Bytes)).release(),
                 Number(raw.substr(kP256Bytes)).release());
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  if (size <= 0) return std::nullopt;
  std::string text(reinterpret_cast<char*>(der), size);
  OPENSSL_free(der);
  return text;
}

bool IsSignedBy(EVP_PKEY* key, absl::string_view text,
                absl::string_view signature) {
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  const bool is_good =
      EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr,
                           key) == 1 &&
      EVP_DigestVerify(context.get(), Bytes(signature), signature.size(),
                       Bytes(text), text.size()) == 1;
  ERR_clear_error();
  return is_good;
}

}  // namespace

// Returns a key without a pointer if it is of another kind or use.
absl::StatusOr<JsonWebKeys::Key> JsonWebKeys::ParseKey(const Json& object) {
  if (!object.is_object()) return FieldError("kty", "missing", "an object");
  Key key{.id = TextOf(object, "kid"), .algorithm = AlgorithmOf(object)};
  if (key.algorithm.empty()) return key;
  TANGRAM_ASSIGN_OR_RETURN(
      key.key, key.algorithm == "RS256" ? RsaKey(object) : EllipticKey(object));
  return key;
}

absl::StatusOr<JsonWebKeys> JsonWebKeys::Parse(absl::string_view json) {
  const Json document = Json::parse(json.begin(), json.end(), nullptr,
                                    /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("keys") ||
      !document["keys"].is_array()) {
    return absl::InvalidArgumentError("keys: missing; expected a JWK set");
  }
  JsonWebKeys set;
  absl::Status fault;
  int index = -1;
  for (const Json& object : document["keys"]) {
    absl::StatusOr<Key> key = ParseKey(object);
    fault.Update(InField("keys", ++index, key.status()));
    if (key.ok() && key->key != nullptr) set.keys_.push_back(*std::move(key));
  }
  // An empty set withdraws all keys.
  if (!set.keys_.empty() || document["keys"].empty()) return set;
  if (!fault.ok()) return fault;
  return FieldError("keys", "none that can be used",
                    "RSA keys for RS256 or P-256 keys for ES256");
}

absl::Status JsonWebKeys::Verify(absl::string_view algorithm,
                                 absl::string_view key_id,
                                 absl::string_view text,
                                 absl::string_view signature) const {
  if (algorithm != "RS256" && algorithm != "ES256") {
    return absl::UnauthenticatedError("token: expected RS256 or ES256");
  }
  std::optional<std::string> der;
  if (algorithm == "ES256") {
    der = DerSignature(signature);
    if (!der)
      return absl::UnauthenticatedError("token: not signed by a known key");
    signature = *der;
  }
  const bool is_signed =
      std::any_of(keys_.begin(), keys_.end(), [&](const Key& key) {
        return key.algorithm == algorithm &&
               (key_id.empty() || key.id == key_id) &&
               IsSignedBy(key.key.get(), text, signature);
      });
  if (is_signed) return absl::OkStatus();
  return absl::UnauthenticatedError("token: not signed by a known key");
}

}  // namespace tangram
