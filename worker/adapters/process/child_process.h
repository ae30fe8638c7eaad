#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_CHILD_PROCESS_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_CHILD_PROCESS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tangram {

// A command and its limits.
struct ChildOptions {
  // Words put before "/bin/sh -c command": a program that runs what follows it,
  // and its arguments. Empty: none.
  std::vector<std::string> wrapper;
  std::string command;  // Run by /bin/sh.
  std::vector<std::string>
      environment;  // "NAME=value"; the command gets no other variables.
  double max_memory_bytes = 0;  // Limit on all its processes together.
  // Called with each line of standard output or error. In a flood, only with
  // the first lines and the number of lines left out.
  std::function<void(absl::string_view)> on_line;
};

// A command that runs in its own session, together with everything that it
// starts and that stays in the session or among its descendants. It has no
// standard input, no open files of ours and no terminal. It dies with this
// process, and is killed if it exceeds its memory limit. Thread-safe.
class ChildProcess {
 public:
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      ChildOptions options);

  virtual ~ChildProcess() = default;  // Kills the command.

  // Kills the command and all that it started. Ending() reports the first
  // reason: "took longer than 600 s".
  virtual void Kill(absl::string_view reason) = 0;

  // Returns whether the command has ended or ends within `seconds`.
  virtual bool EndsWithin(double seconds) = 0;

  // Describes how the command ended and its last output: "was killed by signal
  // 9 (Killed); output: ...".
  virtual std::string Ending() = 0;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_CHILD_PROCESS_H_
