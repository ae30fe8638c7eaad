#include "common/http/percent_decode.h"

#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "common/base/printable_text.h"

namespace tangram {
namespace {

bool IsText(absl::string_view text) {
  while (!text.empty()) {
    const size_t bytes = Utf8Bytes(text);
    if (bytes == 0 || text.front() == '\0') return false;
    text.remove_prefix(bytes);
  }
  return true;
}

}  // namespace

std::optional<std::string> PercentDecoded(absl::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const absl::string_view digits = text.substr(i + 1, 2);
    if (digits.size() < 2 || !absl::ascii_isxdigit(digits[0]) ||
        !absl::ascii_isxdigit(digits[1])) {
      return std::nullopt;
    }
    decoded += absl::HexStringToBytes(digits);
    i += 2;
  }
  if (!IsText(decoded)) return std::nullopt;
  return decoded;
}

}  // namespace tangram
