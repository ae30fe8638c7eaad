#include "worker/adapters/process/adapter_sandbox.h"

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "worker/adapters/process/child_process.h"

namespace tangram {
namespace {

// Where Debian and others install it. A search along PATH could find a program
// of somebody else.
constexpr char kBubblewrap[] = "/usr/bin/bwrap";
// The user and group "nobody", who own nothing.
constexpr char kNobody[] = "65534";
constexpr char kSharedMemoryBytes[] = "67108864";
constexpr double kTrialS = 10;
constexpr double kTrialBytes = 1e9;

absl::Status TrySandbox() {
  if (access(kBubblewrap, X_OK) != 0) {
    return absl::UnavailableError(
        absl::StrCat(kBubblewrap, " is missing; install bubblewrap"));
  }
  const absl::StatusOr<std::unique_ptr<ChildProcess>> trial =
      ChildProcess::Start({.wrapper = SandboxWords("/tmp", {}),
                           .command = "exit 0",
                           .max_memory_bytes = kTrialBytes});
  if (!trial.ok()) return trial.status();
  if (!(*trial)->EndsWithin(kTrialS)) {
    return absl::UnavailableError("bwrap does not end");
  }
  const std::string ending = (*trial)->Ending();
  if (ending == "exited with code 0") return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("bwrap ", ending));
}

// Returns the folders of files, each by its name and with symbolic links
// followed. A folder stays hidden when a file in it is replaced by another.
std::set<std::string> FoldersOf(const std::vector<std::string>& files) {
  std::set<std::string> folders;
  for (const std::string& file : files) {
    std::error_code error;
    const std::filesystem::path target =
        std::filesystem::canonical(file, error);
    if (error) continue;
    const std::filesystem::path named =
        std::filesystem::absolute(file).lexically_normal();
    for (const std::filesystem::path& path : {named, target}) {
      const std::filesystem::path folder =
          std::filesystem::canonical(path.parent_path(), error);
      if (!error) folders.insert(folder.string());
    }
  }
  return folders;
}

}  // namespace

absl::StatusOr<Isolation> ParseIsolation(absl::string_view text) {
  if (text == "auto") return Isolation::kAuto;
  if (text == "required") return Isolation::kRequired;
  if (text == "none") return Isolation::kNone;
  return FieldError("--adapter_isolation", text, "auto, required or none");
}

absl::Status SandboxesWork() {
  static const absl::Status* const works = new absl::Status(TrySandbox());
  return *works;
}

std::vector<std::string> SandboxWords(const std::string& folder,
                                      const std::vector<std::string>& hidden) {
  std::vector<std::string> words = {
      kBubblewrap, "--unshare-user", "--unshare-pid", "--unshare-net",
      "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
      // The worker's thread is the parent; its death is the sandbox's.
      "--die-with-parent",
      // Keeps programs from typing into a terminal of the worker.
      "--new-session", "--cap-drop", "ALL", "--uid", kNobody, "--gid", kNobody,
      "--ro-bind", "/", "/", "--dev", "/dev",
      // The limit on memory counts the pages of processes alone.
      "--size", kSharedMemoryBytes, "--tmpfs", "/dev/shm", "--proc", "/proc"};
  // The sockets of services: a read-only file system does not stop calls.
  std::set<std::string> empty = FoldersOf(hidden);
  empty.insert("/run");
  for (const std::string& emptied : empty) {
    words.insert(words.end(), {"--tmpfs", emptied});
  }
  words.insert(words.end(), {"--bind", folder, folder});
  for (const std::string& emptied : empty) {
    words.insert(words.end(), {"--remount-ro", emptied});
  }
  words.push_back("--");
  return words;
}

}  // namespace tangram
