#include "coordinator/auth/web_token.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "coordinator/auth/json_text.h"
#include "nlohmann/json.hpp"

namespace tangram {
namespace {

using Json = nlohmann::json;

constexpr size_t kNumParts = 3;  // Header, payload, signature (RFC 7515, 7.1).
// Longest token: twice the metadata that gRPC takes by default.
constexpr size_t kMaxBytes = 1 << 14;
// Largest difference between clocks. RFC 7519, 4.1.4, allows a few minutes.
constexpr double kLeewayS = 30;

absl::Status Refuse(absl::string_view why) {
  return absl::UnauthenticatedError(absl::StrCat("token: ", why));
}

absl::StatusOr<Json> DecodeObject(absl::string_view part,
                                  absl::string_view what) {
  std::string text;
  if (absl::WebSafeBase64Unescape(part, &text)) {
    Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (object.is_object()) return object;
  }
  return Refuse(absl::StrCat(what, " is not a JSON object"));
}

// Returns a string as a list, or the strings of a list.
std::vector<std::string> Texts(const Json& object, const char* name) {
  const auto it = object.find(name);
  if (it == object.end()) return {};
  if (it->is_string()) return {it->get<std::string>()};
  std::vector<std::string> texts;
  if (!it->is_array()) return texts;
  for (const Json& text : *it) {
    if (text.is_string()) texts.push_back(text.get<std::string>());
  }
  return texts;
}

// Returns the words of a string separated by spaces, or the strings of a list.
std::vector<std::string> Words(const Json& object, const char* name) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_string()) return Texts(object, name);
  return absl::StrSplit(it->get<std::string>(), ' ', absl::SkipEmpty());
}

std::optional<double> Time(const Json& object, const char* name) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_number()) return std::nullopt;
  return it->get<double>();
}

absl::Status CheckClaims(const Json& claims, const WebTokenRules& rules,
                         double now_s) {
  const std::optional<double> expires_s = Time(claims, "exp");
  if (!expires_s) return Refuse("exp: missing");
  if (now_s >= *expires_s + kLeewayS) return Refuse("exp: has expired");
  if (claims.contains("nbf")) {
    const std::optional<double> begins_s = Time(claims, "nbf");
    if (!begins_s) return Refuse("nbf: expected a number");
    if (now_s < *begins_s - kLeewayS) return Refuse("nbf: is not valid yet");
  }
  if (TextOf(claims, "iss") != rules.issuer) {
    return Refuse(absl::StrCat("iss: expected ", rules.issuer));
  }
  // A single audience is one string, spaces included (RFC 7519, 4.1.3).
  const std::vector<std::string> audiences = Texts(claims, "aud");
  if (std::find(audiences.begin(), audiences.end(), rules.audience) ==
      audiences.end()) {
    return Refuse(absl::StrCat("aud: expected ", rules.audience));
  }
  return absl::OkStatus();
}

absl::StatusOr<Caller> CallerOf(const Json& claims) {
  Caller caller{.name = TextOf(claims, "sub"),
                .tenant = TextOf(claims, "tenant")};
  for (const std::string& word : Words(claims, "roles")) {
    // Ignores unknown roles: providers have roles for other services too.
    const absl::StatusOr<Role> role = ParseRole(word);
    if (role.ok()) caller.roles = caller.roles | *role;
  }
  const absl::Status status = CheckCaller("sub", caller);
  if (!status.ok()) return Refuse(status.message());
  return caller;
}

}  // namespace

bool IsWebToken(absl::string_view token) {
  return std::count(token.begin(), token.end(), '.') == kNumParts - 1;
}

absl::StatusOr<Caller> CallerOfWebToken(absl::string_view token,
                                        const JsonWebKeys& keys,
                                        const WebTokenRules& rules,
                                        double now_s) {
  if (token.size() > kMaxBytes) return Refuse("too long");
  const std::vector<absl::string_view> parts = absl::StrSplit(token, '.');
  if (parts.size() != kNumParts) return Refuse("not a JSON Web Token");
  TANGRAM_ASSIGN_OR_RETURN(const Json header,
                           DecodeObject(parts[0], "the header"));
  // "crit" lists extensions that must be understood. None is.
  if (header.contains("crit")) return Refuse("crit: not supported");
  std::string signature;
  // Accepts only the canonical encoding of the last bits.
  if (!absl::WebSafeBase64Unescape(parts[2], &signature) ||
      absl::WebSafeBase64Escape(signature) != parts[2]) {
    return Refuse("the signature is not base64url");
  }
  TANGRAM_RETURN_IF_ERROR(
      keys.Verify(TextOf(header, "alg"), TextOf(header, "kid"),
                  token.substr(0, token.rfind('.')), signature));
  TANGRAM_ASSIGN_OR_RETURN(const Json claims,
                           DecodeObject(parts[1], "the payload"));
  TANGRAM_RETURN_IF_ERROR(CheckClaims(claims, rules, now_s));
  return CallerOf(claims);
}

}  // namespace tangram
