#include "worker/adapters/process/adapter_sandbox.h"

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <system_error>

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
      "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind",
      folder, folder};
  for (const std::string& file : hidden) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::canonical(file, error);
    if (error) continue;
    words.insert(words.end(), {"--ro-bind", "/dev/null", path.string()});
  }
  words.push_back("--");
  return words;
}

}  // namespace tangram
