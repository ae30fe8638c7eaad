#include "cli/files/output_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

absl::Status FileError(const std::string& path, absl::string_view what) {
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": ", what));
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool IsSpecialFile(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

absl::Status WriteAll(int fd, absl::string_view content,
                      const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError(path, "cannot be written");
    content.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status WriteTo(int fd, absl::string_view content,
                     const std::string& path) {
  absl::Status status = WriteAll(fd, content, path);
  if (close(fd) != 0 && status.ok()) {
    status = FileError(path, "cannot be written");
  }
  return status;
}

absl::Status WriteInPlace(const std::string& path, absl::string_view content) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return FileError(path, "cannot be opened");
  return WriteTo(fd, content, path);
}

// Returns the mode that open(2) would give a new file; mkstemp always uses
// 0600. The mask can be read only by setting it.
mode_t DefaultFileMode(bool executable) {
  const mode_t mask = umask(0);
  umask(mask);
  return (executable ? 0777 : 0666) & ~mask;
}

// Temporary files. The destructor removes those that Rename has not reached.
class TemporaryFiles {
 public:
  ~TemporaryFiles() {
    for (const auto& [temporary, path] : files_) unlink(temporary.c_str());
  }

  absl::Status Add(const std::string& path, absl::string_view content,
                   bool executable) {
    std::string temporary = absl::StrCat(path, ".XXXXXX");
    const int fd = mkstemp(temporary.data());
    if (fd < 0) return FileError(path, "cannot be created");
    files_.emplace_back(temporary, path);
    fchmod(fd, DefaultFileMode(executable));
    return WriteTo(fd, content, path);
  }

  absl::Status Rename() {
    while (!files_.empty()) {
      const auto& [temporary, path] = files_.back();
      if (std::rename(temporary.c_str(), path.c_str()) != 0) {
        return FileError(path, "cannot be replaced");
      }
      files_.pop_back();
    }
    return absl::OkStatus();
  }

 private:
  std::vector<std::pair<std::string, std::string>> files_;
};

}  // namespace

absl::Status MakeFolder(const std::string& path) {
  struct stat info = {};
  if (mkdir(path.c_str(), 0777) == 0) return absl::OkStatus();
  if (errno == EEXIST && stat(path.c_str(), &info) == 0 &&
      S_ISDIR(info.st_mode)) {
    return absl::OkStatus();
  }
  return FileError(path, "the folder cannot be made");
}

absl::Status MakeFoldersFor(const std::string& root, const std::string& name) {
  TANGRAM_RETURN_IF_ERROR(MakeFolder(root));
  for (size_t slash = name.find('/'); slash != std::string::npos;
       slash = name.find('/', slash + 1)) {
    TANGRAM_RETURN_IF_ERROR(
        MakeFolder(absl::StrCat(root, "/", name.substr(0, slash))));
  }
  return absl::OkStatus();
}

absl::Status CheckWritable(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": a folder; expected a file name"));
    }
    if (!S_ISREG(info.st_mode)) return absl::OkStatus();
  }
  if (access(FolderOf(path).c_str(), W_OK | X_OK) != 0) {
    return FileError(path, "cannot be created");
  }
  return absl::OkStatus();
}

void OutputFiles::Add(std::string path, std::string content, bool executable) {
  files_.push_back({std::move(path), std::move(content), executable});
}

absl::Status OutputFiles::Write() const {
  TemporaryFiles temporaries;
  for (const File& file : files_) {
    if (!IsSpecialFile(file.path)) {
      TANGRAM_RETURN_IF_ERROR(
          temporaries.Add(file.path, file.content, file.executable));
    }
  }
  for (const File& file : files_) {
    if (IsSpecialFile(file.path)) {
      TANGRAM_RETURN_IF_ERROR(WriteInPlace(file.path, file.content));
    }
  }
  return temporaries.Rename();
}

}  // namespace tangram
