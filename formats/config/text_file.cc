#include "formats/config/text_file.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

// Most files fit in one read; a pipe takes a few.
constexpr int64_t kChunkBytes = int64_t{1} << 20;

absl::Status CheckSize(int64_t bytes, absl::string_view source_name,
                       int64_t max_bytes = kMaxConfigBytes) {
  if (bytes <= max_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("%s: %.1f MB; expected at most %d MiB", source_name,
                      static_cast<double>(bytes) / 1e6, max_bytes >> 20));
}

// Returns the bytes of a UTF-8 sequence by its first byte; 0 if no sequence
// begins with it.
size_t LengthByLead(int lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  return lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
}

// Returns whether the second byte makes an overlong form, a surrogate or a code
// point beyond U+10FFFF.
bool IsForbidden(int lead, int second) {
  const bool overlong =
      (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second > 0x9F;
  const bool beyond = lead == 0xF4 && second > 0x8F;
  return overlong || surrogate || beyond;
}

// Returns the bytes of the UTF-8 sequence at the front of `text`; 0 if there is
// none.
size_t SequenceLength(absl::string_view text) {
  const auto byte = [text](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const size_t length = LengthByLead(byte(0));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length > 1 && IsForbidden(byte(0), byte(1)) ? 0 : length;
}

bool IsControl(char c) {
  return absl::ascii_iscntrl(c) && c != '\n' && c != '\r' && c != '\t';
}

}  // namespace

absl::StatusOr<std::string> ReadConfigFile(const std::string& path) {
  return ReadTextFile(path, kMaxConfigBytes);
}

absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         int64_t max_bytes) {
  std::error_code error;
  const auto file_status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(file_status)) {
    return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  }
  if (std::filesystem::is_directory(file_status)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": a folder; expected a file"));
  }
  if (std::filesystem::is_regular_file(file_status)) {
    const auto size = std::filesystem::file_size(path, error);
    if (!error) {
      TANGRAM_RETURN_IF_ERROR(
          CheckSize(static_cast<int64_t>(size), path, max_bytes));
    }
  }
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::string chunk(kChunkBytes, '\0');
  while (file.read(chunk.data(), kChunkBytes) || file.gcount() > 0) {
    text.append(chunk, 0, static_cast<size_t>(file.gcount()));
    // A pipe has no size beforehand and may never end.
    TANGRAM_RETURN_IF_ERROR(
        CheckSize(static_cast<int64_t>(text.size()), path, max_bytes));
  }
  if (file.bad() || !file.is_open()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read"));
  }
  return text;
}

absl::Status CheckConfigText(absl::string_view text,
                             absl::string_view source_name) {
  TANGRAM_RETURN_IF_ERROR(
      CheckSize(static_cast<int64_t>(text.size()), source_name));
  bool blank = true;
  for (size_t i = 0; i < text.size();) {
    const size_t length = SequenceLength(text.substr(i));
    if (length == 0 || IsControl(text[i])) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s: byte 0x%02x at offset %d; expected UTF-8 text",
                          source_name, static_cast<unsigned char>(text[i]), i));
    }
    blank = blank && absl::ascii_isspace(text[i]);
    i += length;
  }
  if (!blank) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(source_name, ": empty; expected YAML or JSON"));
}

}  // namespace tangram
