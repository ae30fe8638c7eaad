#include "coordinator/auth/json_web_keys.h"
#include "coordinator/auth/token_table.h"
#include "coordinator/auth/web_token.h"
#include "tests/fuzz/fuzz_checks.h"

namespace {

// A key that nobody has signed with: a token is checked up to its signature.
constexpr char kKeys[] =
    R"({"keys":[{"kty":"EC","crv":"P-256",)"
    R"("x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
    R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]})";

}  // namespace

// Fuzzes files of tokens and keys, and tokens.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tangram;
  const absl::string_view text = fuzz::Text(data, size);
  fuzz::CheckBlame(TokenTable::Parse(text).status());
  fuzz::CheckBlame(JsonWebKeys::Parse(text).status());
  static const JsonWebKeys keys = *JsonWebKeys::Parse(kKeys);
  const auto caller = CallerOfWebToken(
      text, keys, {.issuer = "https://id", .audience = "tangram"}, 1.7e9);
  TANGRAM_CHECK(absl::IsUnauthenticated(caller.status()));
  return 0;
}
