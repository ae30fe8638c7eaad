#include "cli/files/input_file.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "formats/config/text_file.h"

namespace tangram {
namespace {

constexpr absl::string_view kGzipStart =
    "\x1f\x8b";  // RFC 1952, section 2.3.1.

}  // namespace

std::string InputName(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

absl::StatusOr<std::string> ReadInputFile(const std::string& path,
                                          int64_t max_bytes) {
  TANGRAM_ASSIGN_OR_RETURN(
      std::string text,
      ReadTextFile(path == "-" ? "/dev/stdin" : path, max_bytes));
  if (absl::StartsWith(text, kGzipStart)) {
    return absl::InvalidArgumentError(absl::StrCat(
        InputName(path), ": is compressed; expected text (gunzip it)"));
  }
  return text;
}

}  // namespace tangram
