#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_CHILD_PROCESS_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_CHILD_PROCESS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tangram {

struct ChildOptions {
  std::string command;                   // For /bin/sh.
  std::vector<std::string> environment;  // "NAME=value"; it gets nothing else.
  double max_memory_bytes = 0;           // Of all its processes together.
  // Gets each line that it writes to standard output or error; of a flood the
  // first ones, and how many were left out.
  std::function<void(absl::string_view)> on_line;
};

// A command that runs in a session of its own, with all that it starts: it has
// no standard input, no open files of ours and no terminal, dies with this
// process, and is killed when it takes more memory than it may. Thread-safe.
class ChildProcess {
 public:
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      ChildOptions options);

  virtual ~ChildProcess() = default;  // Kills it.

  // Kills it and all that it started. The first reason is told by Ending():
  // "took longer than 600 s".
  virtual void Kill(absl::string_view reason) = 0;

  // Whether it has ended, or does within that time.
  virtual bool EndsWithin(double seconds) = 0;

  // How it ended and what it wrote last: "was killed by signal 9 (Killed);
  // output: ...".
  virtual std::string Ending() = 0;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_CHILD_PROCESS_H_
