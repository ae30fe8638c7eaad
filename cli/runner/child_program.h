#ifndef TANGRAM_CLI_RUNNER_CHILD_PROGRAM_H_
#define TANGRAM_CLI_RUNNER_CHILD_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tangram {

// The exit code of a program that signal N killed is this + N, as in shells.
constexpr int kKilledBySignal = 128;

// Runs the program `words[0]`, looked up in PATH, with arguments `words` and
// returns its exit code: 127 if it cannot be started, kKilledBySignal + N if
// signal N killed it. It has no standard input. Its output is ours, or goes
// nowhere if `is_silent`.
//
// The program leads a process group of its own, so that the Ctrl-C of a
// terminal reaches this process alone. SIGINT and SIGTERM to this process end
// the group: then the result is kCancelled. When the function returns, no
// process of the group is left. If this process is killed, the program is
// killed too. Only one thread may be running.
absl::StatusOr<int> RunChildProgram(std::vector<std::string> words,
                                    bool is_silent = false);

}  // namespace tangram

#endif  // TANGRAM_CLI_RUNNER_CHILD_PROGRAM_H_
