#include "common/security/secret_file.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

// Four times a bundle of all public authorities.
constexpr size_t kMaxBytes = 1 << 20;

}  // namespace

absl::Status FileError(absl::string_view flag, absl::string_view file,
                       absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(flag, ": ", file, ": ", what));
}

absl::StatusOr<std::string> ReadSecretFile(absl::string_view flag,
                                           const std::string& file) {
  errno = 0;
  std::ifstream input(file, std::ios::binary);
  std::string content(kMaxBytes + 1, '\0');
  if (input) input.read(content.data(), content.size());
  if (!input.is_open() || input.bad()) {
    return FileError(flag, file,
                     errno == 0 ? std::string("cannot be read")
                                : std::generic_category().message(errno));
  }
  content.resize(input.gcount());
  if (content.size() > kMaxBytes) {
    return FileError(flag, file,
                     absl::StrCat("larger than ", kMaxBytes, " bytes"));
  }
  // Reading a folder succeeds and yields nothing.
  if (content.empty()) return FileError(flag, file, "empty, or not a file");
  return content;
}

absl::StatusOr<std::string> ReadTokenFile(absl::string_view flag,
                                          const std::string& file) {
  TANGRAM_ASSIGN_OR_RETURN(const std::string content,
                           ReadSecretFile(flag, file));
  const absl::string_view token = absl::StripAsciiWhitespace(content);
  if (!token.empty() &&
      std::all_of(token.begin(), token.end(), absl::ascii_isgraph)) {
    return std::string(token);
  }
  return FileError(flag, file, "expected one token of printable characters");
}

}  // namespace tangram
