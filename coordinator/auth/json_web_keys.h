#ifndef TANGRAM_COORDINATOR_AUTH_JSON_WEB_KEYS_H_
#define TANGRAM_COORDINATOR_AUTH_JSON_WEB_KEYS_H_

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct evp_pkey_st;

namespace tangram {

// The public keys of an identity provider, from a JSON Web Key Set (RFC 7517):
// RSA keys for RS256 and P-256 keys for ES256 (RFC 7518). Ignores keys of other
// kinds or uses, and malformed or weak ones (RFC 7517, 5), so that one of them
// does not keep a withdrawn key alive.
class JsonWebKeys {
 public:
  // Reads a key set, which may be empty. If it has keys but none can be used,
  // returns kInvalidArgument, naming the first that is malformed: keys[1].n:
  // ...
  static absl::StatusOr<JsonWebKeys> Parse(absl::string_view json);

  // Checks that `signature` of `text` was made with the key of this id; if
  // `key_id` is empty, with any key. `algorithm` must be the key's own, so that
  // no key can be used as another kind of key. kUnauthenticated says what is
  // wrong.
  absl::Status Verify(absl::string_view algorithm, absl::string_view key_id,
                      absl::string_view text,
                      absl::string_view signature) const;

 private:
  struct Key {
    std::string id;
    std::string algorithm;
    std::shared_ptr<evp_pkey_st> key;
  };

  static absl::StatusOr<Key> ParseKey(const nlohmann::json& object);

  std::vector<Key> keys_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_AUTH_JSON_WEB_KEYS_H_
