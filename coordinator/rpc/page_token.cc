#include "coordinator/rpc/page_token.h"

#include <bit>
#include <cstdint>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/field_error.h"
#include "common/digest/sha256.h"

namespace tangram {
namespace {

constexpr absl::string_view kFormat = "1";
constexpr size_t kMaxTokenBytes = 1000;

std::string DigestOf(absl::string_view query) {
  return absl::BytesToHexString(Sha256()(query).view().substr(0, 8));
}

std::string Bits(double number) {
  return absl::StrCat(absl::Hex(std::bit_cast<uint64_t>(number)));
}

bool ParseBits(absl::string_view text, double& number) {
  uint64_t bits = 0;
  if (!absl::SimpleHexAtoi(text, &bits)) return false;
  number = std::bit_cast<double>(bits);
  return number == number;
}

}  // namespace

std::string PageTokenOf(const JobCursor& cursor, absl::string_view query) {
  return absl::WebSafeBase64Escape(absl::StrCat(
      kFormat, "\n", DigestOf(query), "\n", Bits(cursor.submitted_s), "\n",
      Bits(cursor.key), "\n", cursor.id));
}

absl::StatusOr<JobCursor> ParsePageToken(absl::string_view token,
                                         absl::string_view query) {
  const absl::Status bad =
      FieldError("page_token", absl::StrCat("\"", token.substr(0, 100), "\""),
                 "next_page_token of a page with the same filter, order_by and "
                 "states");
  std::string text;
  if (token.size() > kMaxTokenBytes ||
      !absl::WebSafeBase64Unescape(token, &text)) {
    return bad;
  }
  const std::vector<std::string> parts =
      absl::StrSplit(text, absl::MaxSplits('\n', 4));
  JobCursor cursor;
  if (parts.size() != 5 || parts[0] != kFormat || parts[1] != DigestOf(query) ||
      !ParseBits(parts[2], cursor.submitted_s) ||
      !ParseBits(parts[3], cursor.key) || parts[4].empty()) {
    return bad;
  }
  cursor.id = parts[4];
  return cursor;
}

}  // namespace tangram
