#ifndef TANGRAM_CLI_REMOTE_PROGRESS_FOLLOWER_H_
#define TANGRAM_CLI_REMOTE_PROGRESS_FOLLOWER_H_

#include <chrono>
#include <string>

#include "cli/print/progress_line.h"

namespace tangram::v1 {
class PlanProgress;
}  // namespace tangram::v1

namespace tangram {

// Shows the progress that a coordinator reports on a line. It measures how long
// the current phase has run, because updates do not carry that.
class ProgressFollower {
 public:
  explicit ProgressFollower(ProgressLine& line) : line_(line) {}

  void Show(const v1::PlanProgress& progress);

 private:
  ProgressLine& line_;
  std::string phase_;
  std::chrono::steady_clock::time_point phase_began_;
};

}  // namespace tangram

#endif  // TANGRAM_CLI_REMOTE_PROGRESS_FOLLOWER_H_
