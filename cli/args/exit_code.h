#ifndef TANGRAM_CLI_ARGS_EXIT_CODE_H_
#define TANGRAM_CLI_ARGS_EXIT_CODE_H_

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace tangram {

// What `tangram` exits with; scripts rely on the numbers (docs/cli.md).
enum class ExitCode {
  kOk = 0,
  kInternal = 1,
  kBadInput = 2,  // Bad input or usage.
  kNoPlan = 3,    // No plan fits, or the evaluated plan has violations.
  kUnavailable = 4,
  kDeadlineExceeded = 5,
  kPlansDiffer = 6,    // `tangram diff` alone; 0: the same.
  kInterrupted = 130,  // As shells report a process ended by SIGINT.
};

struct ExitCodeMeaning {
  ExitCode code;
  const char* meaning;  // "bad input or usage"
};

// All of them, for help and manual pages.
absl::Span<const ExitCodeMeaning> ExitCodeMeanings();

// What a command that failed with `status` exits with.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_EXIT_CODE_H_
