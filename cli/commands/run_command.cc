#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands/answer.h"
#include "cli/commands/commands.h"
#include "cli/files/plan_files.h"
#include "cli/print/print_plan.h"
#include "cli/runner/child_program.h"
#include "cli/runner/find_runner.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

// Exit codes of the runner (tools/runner/README.md). All others are failures.
ExitCode OfRunner(int code) {
  switch (code) {
    case 0:
      return ExitCode::kOk;
    case 1:
      return ExitCode::kTrainsWrong;
    case 2:
      return ExitCode::kBadInput;
    default:
      return ExitCode::kRunFailed;
  }
}

// The runner reads the file again, but a pipe can be read only once.
absl::Status CheckReadsTwice(const std::string& path) {
  std::error_code unknown;  // Reading the file will say what is wrong with it.
  const std::filesystem::file_status status =
      std::filesystem::status(path, unknown);
  if (unknown || !std::filesystem::exists(status) ||
      std::filesystem::is_regular_file(status) ||
      std::filesystem::is_directory(status)) {
    return absl::OkStatus();
  }
  return FieldError(path, "no regular file", "one, as it is read twice");
}

}  // namespace

CommandResult Run(const RunOptions& options, Console& console) {
  TANGRAM_RETURN_IF_ERROR(CheckReadsTwice(options.plan_file));
  TANGRAM_ASSIGN_OR_RETURN(const PlanFile file,
                           ReadAndEvaluate(options.plan_file));
  if (!file.result.plan && !file.result.replicated_plan) {
    TANGRAM_RETURN_IF_ERROR(
        PrintAnswerOf(file, AnswerChoice(), options.plan_file, console));
    return ExitCode::kNoPlan;
  }
  TANGRAM_ASSIGN_OR_RETURN(const std::string runner, FindRunner());
  TANGRAM_ASSIGN_OR_RETURN(const std::string python, FindPythonWithTorch());
  // -B: writes no compiled files into the installation.
  std::vector<std::string> words = {python, "-B", runner,
                                    absl::StrCat("--steps=", options.steps),
                                    absl::StrCat("--seed=", options.seed)};
  if (options.tiny) words.emplace_back("--tiny");
  if (options.check) words.emplace_back("--check");
  if (options.max_processes > 0) {
    words.push_back(absl::StrCat("--max-processes=", options.max_processes));
  }
  if (options.measure) {
    words.emplace_back("--measure");
    words.push_back(absl::StrCat("--tangram=", OwnProgram()));
  }
  if (!options.profile_folder.empty()) {
    words.push_back(absl::StrCat("--profile-folder=", options.profile_folder));
  }
  words.emplace_back("--");  // The name of the file may begin with "-".
  words.push_back(options.plan_file);
  TANGRAM_ASSIGN_OR_RETURN(const int code, RunChildProgram(std::move(words)));
  // A runner that exits says itself what failed.
  if (code > kKilledBySignal) {
    console.err << "tangram: the runner was killed by signal "
                << code - kKilledBySignal << "\n";
  }
  return OfRunner(code);
}

}  // namespace tangram
