#include "cli/runner/find_runner.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/runner/child_program.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

constexpr char kRunnerVariable[] = "TANGRAM_RUNNER";
constexpr char kPythonVariable[] = "TANGRAM_PYTHON";

// Ends with 0 if PyTorch is there. Importing it would take seconds. The working
// folder, which may have a folder called torch, does not count.
constexpr char kHasTorch[] =
    "import sys; sys.path = [p for p in sys.path if p]; "
    "import importlib.util as u; sys.exit(u.find_spec('torch') is None)";

// Returns the value of an environment variable; empty if it is not set.
std::string Variable(const char* name) {
  // Nothing in this program sets variables.
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

bool IsRunner(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::is_regular_file(folder / "__main__.py", error);
}

absl::StatusOr<bool> HasTorch(const std::string& python) {
  TANGRAM_ASSIGN_OR_RETURN(
      const int code,
      RunChildProgram({python, "-c", kHasTorch}, /*is_silent=*/true));
  return code == 0;
}

}  // namespace

std::string OwnProgram() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

absl::StatusOr<std::string> FindRunner() {
  if (const std::string folder = Variable(kRunnerVariable); !folder.empty()) {
    if (IsRunner(folder)) return folder;
    return absl::NotFoundError(
        absl::StrCat(kRunnerVariable, ": ", folder,
                     "; expected the folder of the runner, with __main__.py"));
  }
  const std::filesystem::path folder =
      std::filesystem::path(OwnProgram()).parent_path().parent_path() /
      "share/tangram/runner";
  if (IsRunner(folder)) return folder.string();
  return absl::NotFoundError(
      absl::StrCat("the runner is missing: expected ", folder.string(),
                   ", or its folder in ", kRunnerVariable));
}

absl::StatusOr<std::string> FindPythonWithTorch() {
  if (std::string python = Variable(kPythonVariable); !python.empty()) {
    TANGRAM_ASSIGN_OR_RETURN(const bool has_torch, HasTorch(python));
    if (has_torch) return python;
    return absl::NotFoundError(absl::StrCat(
        kPythonVariable, ": ", python, "; expected a Python with PyTorch"));
  }
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    TANGRAM_ASSIGN_OR_RETURN(const bool has_torch, HasTorch(python));
    if (has_torch) return python;
  }
  return absl::NotFoundError(absl::StrCat(
      "PyTorch is missing: apt-get install --no-install-recommends "
      "python3-torch, or name a Python that has it in ",
      kPythonVariable));
}

}  // namespace tangram
