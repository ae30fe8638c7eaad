#ifndef TANGRAM_CLI_FILES_INPUT_FILE_H_
#define TANGRAM_CLI_FILES_INPUT_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tangram {

// Returns the content of the file at `path`, or of standard input for "-".
// kInvalidArgument for more than `max_bytes` or a compressed file.
absl::StatusOr<std::string> ReadInputFile(const std::string& path,
                                          int64_t max_bytes);

// Returns the name of `path` for messages: "standard input" for "-".
std::string InputName(const std::string& path);

}  // namespace tangram

#endif  // TANGRAM_CLI_FILES_INPUT_FILE_H_
