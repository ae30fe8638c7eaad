#include "coordinator/auth/web_token.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/auth/signing_key.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::SigningKey;
using testing::StatusIs;

constexpr double kNowS = 1'700'000'000;
constexpr char kPayload[] =
    R"({"iss":"https://id","aud":["other","tangram"],"sub":"alice",)"
    R"("tenant":"team-a","roles":["plan","admin"],)"
    R"("nbf":1700000000,"exp":1700000600})";

WebTokenRules Ours() { return {.issuer = "https://id", .audience = "tangram"}; }

Caller Alice() {
  return {.name = "alice", .tenant = "team-a", .roles = Roles() | Role::kPlan};
}

JsonWebKeys Keys(const std::string& keys) {
  const auto set = JsonWebKeys::Parse(absl::StrCat("{\"keys\":[", keys, "]}"));
  EXPECT_THAT(set, testing::IsOk());
  return set.ok() ? *set : JsonWebKeys();
}

class WebTokenTest : public ::testing::Test {
 protected:
  absl::StatusOr<Caller> Ask(const std::string& token, double now_s = kNowS) {
    return CallerOfWebToken(token, keys_, Ours(), now_s);
  }
  // Asks with one part of the payload replaced.
  absl::StatusOr<Caller> AskWith(const std::string& from,
                                 const std::string& to) {
    const std::string payload = absl::StrReplaceAll(kPayload, {{from, to}});
    EXPECT_NE(payload, kPayload);
    return Ask(rsa_.Token(payload));
  }
  static auto Refused(const std::string& why) {
    return StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr(why));
  }

  // Static, because making it takes a while.
  static const SigningKey& TheRsaKey() {
    static const SigningKey* const key = new SigningKey(SigningKey::Rsa());
    return *key;
  }

  const SigningKey& rsa_ = TheRsaKey();
  const SigningKey p256_ = SigningKey::P256();
  const JsonWebKeys keys_ =
      Keys(absl::StrCat(rsa_.Jwk("r"), ",", p256_.Jwk("e")));
};

TEST_F(WebTokenTest, SaysWhoCalls) {
  EXPECT_THAT(Ask(rsa_.Token(kPayload)), IsOkAndHolds(Alice()));
  EXPECT_THAT(Ask(p256_.Token(kPayload)), IsOkAndHolds(Alice()));
  EXPECT_THAT(Ask(rsa_.Token(R"({"alg":"RS256","kid":"r"})", kPayload)),
              IsOkAndHolds(Alice()));
  EXPECT_THAT(AskWith(R"(["plan","admin"])", R"("plan else")"),
              IsOkAndHolds(Alice()));
  EXPECT_THAT(AskWith(R"(["other","tangram"])", R"("tangram")"),
              IsOkAndHolds(Alice()));
}

TEST_F(WebTokenTest, HoldsForItsTimeAlone) {
  const std::string token = rsa_.Token(kPayload);
  // Clocks may differ by 30 s.
  EXPECT_THAT(Ask(token, kNowS - 29), IsOkAndHolds(Alice()));
  EXPECT_THAT(Ask(token, kNowS - 31), Refused("nbf: is not valid yet"));
  EXPECT_THAT(Ask(token, kNowS + 629), IsOkAndHolds(Alice()));
  EXPECT_THAT(Ask(token, kNowS + 631), Refused("exp: has expired"));
  EXPECT_THAT(AskWith("\"exp\"", "\"expires\""), Refused("exp: missing"));
}

TEST_F(WebTokenTest, IsForThisServiceFromThisIssuer) {
  EXPECT_THAT(AskWith("https://id", "https://else"), Refused("iss: expected"));
  EXPECT_THAT(AskWith("\"tangram\"", "\"tango\""), Refused("aud: expected"));
}

TEST_F(WebTokenTest, AnAudienceIsOneStringWithItsSpaces) {
  const std::string list = R"(["other","tangram"])";
  EXPECT_THAT(AskWith(list, R"("other tangram")"), Refused("aud: expected"));
  EXPECT_THAT(AskWith(list, R"(["other tangram"])"), Refused("aud: expected"));
  EXPECT_THAT(
      CallerOfWebToken(
          rsa_.Token(absl::StrReplaceAll(kPayload,
                                         {{list, R"("Tangram of team A")"}})),
          keys_, {.issuer = "https://id", .audience = "Tangram of team A"},
          kNowS),
      IsOkAndHolds(Alice()));
}

TEST_F(WebTokenTest, NamesNeitherTenantNorCallerThatCannotBe) {
  EXPECT_THAT(AskWith("team-a", "team/a"), Refused("tenant: \"team/a\""));
  EXPECT_THAT(AskWith("team-a", "."), Refused("tenant: \".\""));
  EXPECT_THAT(AskWith("\"team-a\"", "\"\""), Refused("tenant: missing"));
  EXPECT_THAT(AskWith("\"sub\"", "\"name\""), Refused("sub: \"\""));
}

TEST_F(WebTokenTest, IsSignedWithAKeyOfItsOwnKind) {
  const std::string none =
      absl::StrCat(absl::WebSafeBase64Escape(R"({"alg":"none"})"), ".",
                   absl::WebSafeBase64Escape(kPayload), ".");
  EXPECT_THAT(Ask(none), Refused("expected RS256 or ES256"));
  EXPECT_THAT(Ask(rsa_.Token(R"({"alg":"HS256"})", kPayload)),
              Refused("expected RS256 or ES256"));
  EXPECT_THAT(Ask(rsa_.Token(R"({"alg":"ES256"})", kPayload)),
              Refused("not signed by a known key"));
  EXPECT_THAT(Ask(p256_.Token(R"({"alg":"RS256"})", kPayload)),
              Refused("not signed by a known key"));
  EXPECT_THAT(Ask(rsa_.Token(R"({"alg":"RS256","kid":"e"})", kPayload)),
              Refused("not signed by a known key"));
  EXPECT_THAT(Ask(SigningKey::P256().Token(kPayload)),
              Refused("not signed by a known key"));
}

TEST_F(WebTokenTest, CannotBeChanged) {
  const std::string token = rsa_.Token(kPayload);
  for (size_t i = 0; i < token.size(); i += 7) {
    SCOPED_TRACE(i);
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(Ask(changed).status().code(), absl::StatusCode::kUnauthenticated);
  }
}

TEST_F(WebTokenTest, MayNotBeExtended) {
  EXPECT_THAT(Ask(rsa_.Token(R"({"alg":"RS256","crit":["x"]})", kPayload)),
              Refused("crit"));
  EXPECT_THAT(Ask(std::string(20'000, 'a')), Refused("too long"));
  EXPECT_THAT(Ask("a.b"), Refused("not a JSON Web Token"));
}

TEST(JsonWebKeysTest, NamesTheKeyAtFault) {
  const auto parse = [](const std::string& keys) {
    return JsonWebKeys::Parse(absl::StrCat("{\"keys\":[", keys, "]}")).status();
  };
  const auto invalid = [](const std::string& what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  EXPECT_THAT(parse(R"({"kty":"oct"},{"kty":"RSA","e":"AQAB"},7)"),
              invalid("keys[1].n: missing"));
  EXPECT_THAT(parse("7"), invalid("keys[0].kty: missing"));
  EXPECT_THAT(parse(absl::StrCat(SigningKey::Rsa(1024).Jwk("weak"))),
              invalid("keys[0].n: 1024 bits"));
  for (const char* e : {"AQ", "Ag"}) {  // 1 and 2: anyone could sign.
    const std::string weak =
        absl::StrReplaceAll(SigningKey::Rsa().Jwk("weak"), {{"AQAB", e}});
    EXPECT_THAT(parse(weak), invalid("keys[0].e: even or 1"));
  }
  EXPECT_TRUE(parse("").ok());
  EXPECT_THAT(parse(R"({"kty":"EC","crv":"P-256","x":"AA","y":"AA"})"),
              invalid("keys[0].x: no point"));
  EXPECT_THAT(parse(R"({"kty":"oct","k":"c2VjcmV0"})"),
              invalid("none that can be used"));
  EXPECT_THAT(JsonWebKeys::Parse("[]").status(), invalid("expected a JWK set"));
}

TEST_F(WebTokenTest, MalformedKeysBesideAGoodOneAreIgnored) {
  const JsonWebKeys keys = Keys(absl::StrCat(R"({"kty":"RSA","e":"AQAB"},7,)",
                                             SigningKey::Rsa(1024).Jwk("weak"),
                                             ",", rsa_.Jwk("good")));
  EXPECT_THAT(CallerOfWebToken(rsa_.Token(kPayload), keys, Ours(), kNowS),
              IsOkAndHolds(Alice()));
}

}  // namespace
}  // namespace tangram
