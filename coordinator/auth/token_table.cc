#include "coordinator/auth/token_table.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/digest/sha256.h"
#include "common/wire/field_checks.h"

namespace tangram {
namespace {

// Shorter tokens can be guessed.
constexpr size_t kMinTokenLength = 16;
constexpr size_t kNumFields = 4;  // Token, name, tenant, roles.

std::string Sha256Of(absl::string_view text) {
  return std::string(Sha256()(text).view());
}

absl::StatusOr<std::string> DigestOf(absl::string_view token) {
  if (absl::ConsumePrefix(&token, "sha256:")) {
    if (token.size() == 2 * Digest().bytes.size() &&
        std::all_of(token.begin(), token.end(), absl::ascii_isxdigit)) {
      return absl::HexStringToBytes(token);
    }
    return absl::InvalidArgumentError("sha256: expected 64 hexadecimal digits");
  }
  if (token.size() >= kMinTokenLength &&
      std::all_of(token.begin(), token.end(), absl::ascii_isgraph)) {
    return Sha256Of(token);
  }
  return FieldError(
      "token", absl::StrCat(token.size(), " characters"),
      absl::StrCat("at least ", kMinTokenLength, ", all of them printable"));
}

absl::StatusOr<Caller> ParseCaller(
    const std::vector<absl::string_view>& fields) {
  Caller caller{.name = std::string(fields[1]),
                .tenant = std::string(fields[2])};
  for (const absl::string_view name : absl::StrSplit(fields[3], '|')) {
    TANGRAM_ASSIGN_OR_RETURN(const Role role,
                             ParseRole(absl::StripAsciiWhitespace(name)));
    caller.roles = caller.roles | role;
  }
  TANGRAM_RETURN_IF_ERROR(CheckCaller("name", caller));
  return caller;
}

}  // namespace

absl::StatusOr<TokenTable> TokenTable::Parse(absl::string_view text) {
  TokenTable table;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::string where = absl::StrCat("line ", ++number);
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    std::vector<absl::string_view> fields = absl::StrSplit(line, ',');
    if (fields.size() != kNumFields) {
      return FieldError(where, absl::StrCat(fields.size(), " fields"),
                        "token,name,tenant,roles");
    }
    for (absl::string_view& field : fields) {
      field = absl::StripAsciiWhitespace(field);
    }
    TANGRAM_ASSIGN_OR_RETURN(Caller caller,
                             InField(where, ParseCaller(fields)));
    const bool is_certificate = absl::ConsumePrefix(&fields[0], "cert:");
    absl::StatusOr<std::string> key =
        is_certificate ? std::string(fields[0]) : DigestOf(fields[0]);
    TANGRAM_RETURN_IF_ERROR(InField(where, key.status()));
    auto& callers = is_certificate ? table.by_certificate_ : table.by_digest_;
    if (!callers.emplace(*std::move(key), std::move(caller)).second) {
      return FieldError(where, "a token of an earlier line", "a new one");
    }
  }
  return table;
}

const Caller* TokenTable::FindToken(absl::string_view token) const {
  const auto it = by_digest_.find(Sha256Of(token));
  return it == by_digest_.end() ? nullptr : &it->second;
}

const Caller* TokenTable::FindCertificate(const std::string& name) const {
  const auto it = by_certificate_.find(name);
  return it == by_certificate_.end() ? nullptr : &it->second;
}

}  // namespace tangram
