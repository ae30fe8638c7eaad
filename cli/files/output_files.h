#ifndef TANGRAM_CLI_FILES_OUTPUT_FILES_H_
#define TANGRAM_CLI_FILES_OUTPUT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tangram {

// Returns kNotFound or kPermissionDenied if no file can be made at `path`, and
// kInvalidArgument if it is a folder. Commands call it before a long
// computation whose answer goes there.
absl::Status CheckWritable(const std::string& path);

// Makes the folder at `path` unless it is there. Its parent must exist.
absl::Status MakeFolder(const std::string& path);

// Makes the folder `root`, and those between it and the file `name` below it.
absl::Status MakeFoldersFor(const std::string& root, const std::string& name);

// Writes files whole or not at all. Each goes to a temporary name in its own
// folder; all are renamed once all are written. A path that exists and is not a
// regular file (/dev/null, a pipe) is written in place.
class OutputFiles {
 public:
  void Add(std::string path, std::string content, bool executable = false);
  // Writes all added files. An error names the path.
  absl::Status Write() const;

 private:
  struct File {
    std::string path;
    std::string content;
    bool executable = false;
  };
  std::vector<File> files_;
};

}  // namespace tangram

#endif  // TANGRAM_CLI_FILES_OUTPUT_FILES_H_
