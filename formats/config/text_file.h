#ifndef TANGRAM_FORMATS_CONFIG_TEXT_FILE_H_
#define TANGRAM_FORMATS_CONFIG_TEXT_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tangram {

// Configurations that people write stay far below this; a larger file is the
// wrong file.
inline constexpr int64_t kMaxConfigBytes = int64_t{8} << 20;

// Returns the content of a file of at most `max_bytes`. Stops reading within
// 1 MiB beyond the limit. kNotFound if there is no such file, kInvalidArgument
// if it is too large, a folder or unreadable.
absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         int64_t max_bytes);

// Returns the content of a file of at most kMaxConfigBytes.
absl::StatusOr<std::string> ReadConfigFile(const std::string& path);

// OK if `text` is UTF-8 without control characters, not blank and within
// kMaxConfigBytes. Errors begin with `source_name`.
absl::Status CheckConfigText(absl::string_view text,
                             absl::string_view source_name);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_TEXT_FILE_H_
