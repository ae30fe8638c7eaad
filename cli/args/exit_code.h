#ifndef TANGRAM_CLI_ARGS_EXIT_CODE_H_
#define TANGRAM_CLI_ARGS_EXIT_CODE_H_

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace tangram {

// Exit codes of `tangram`. Scripts rely on the numbers (docs/cli.md).
enum class ExitCode {
  kOk = 0,                // Done.
  kInternal = 1,          // A defect of this program.
  kBadInput = 2,          // Bad input or usage.
  kNoPlan = 3,            // No plan fits, or the plan has violations.
  kUnavailable = 4,       // No coordinator or worker answers, or all are busy.
  kDeadlineExceeded = 5,  // --timeout passed before there was a plan.
  kPlansDiffer = 6,       // `tangram diff` only; 0 means the same plan.
  kTrainsWrong = 7,       // `tangram run --check` only.
  kRunFailed = 8,         // `tangram run` only: the runner or a rank failed.
  kInterrupted = 130,     // As shells report a process ended by SIGINT.
};

struct ExitCodeMeaning {
  ExitCode code;
  const char* meaning;  // "bad input or usage"
};

// Returns every code with its meaning, for help and manual pages.
absl::Span<const ExitCodeMeaning> ExitCodeMeanings();

// Returns the exit code of a command that ended with `status`.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_EXIT_CODE_H_
