#include "cli/args/exit_code.h"

namespace tangram {
namespace {

constexpr ExitCodeMeaning kMeanings[] = {
    {ExitCode::kOk, "done"},
    {ExitCode::kInternal, "internal error"},
    {ExitCode::kBadInput, "bad input or usage"},
    {ExitCode::kNoPlan, "no plan fits, or the evaluated plan has violations"},
    {ExitCode::kUnavailable, "coordinator or workers unavailable or too busy"},
    {ExitCode::kDeadlineExceeded, "--timeout passed before there was a plan"},
    {ExitCode::kPlansDiffer, "the compared plans differ"},
    {ExitCode::kTrainsWrong, "the plan does not train as one process does"},
    {ExitCode::kRunFailed, "the run of a plan failed"},
    {ExitCode::kInterrupted, "interrupted"},
};

}  // namespace

absl::Span<const ExitCodeMeaning> ExitCodeMeanings() { return kMeanings; }

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitCode::kOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
      return ExitCode::kBadInput;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
      return ExitCode::kUnavailable;
    case absl::StatusCode::kDeadlineExceeded:
      return ExitCode::kDeadlineExceeded;
    case absl::StatusCode::kCancelled:
      return ExitCode::kInterrupted;
    default:
      return ExitCode::kInternal;
  }
}

}  // namespace tangram
