#ifndef TANGRAM_CLI_FILES_INPUT_FILE_H_
#define TANGRAM_CLI_FILES_INPUT_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tangram {

// The content of a file, or of standard input where it is called "-".
// kInvalidArgument beyond `max_bytes`, or if it is compressed.
absl::StatusOr<std::string> ReadInputFile(const std::string& path,
                                          int64_t max_bytes);

// The name for messages: "standard input" for "-".
std::string InputName(const std::string& path);

}  // namespace tangram

#endif  // TANGRAM_CLI_FILES_INPUT_FILE_H_
