#ifndef TANGRAM_COMMON_DAEMON_DAEMON_H_
#define TANGRAM_COMMON_DAEMON_DAEMON_H_

#include "absl/status/status.h"

namespace tangram {

// A daemon program.
struct Daemon {
  const char* program;  // E.g. "tangram-worker".
  const char* usage;    // Text of --help above the flags.
  // Runs the daemon and returns after it was told to stop and has stopped.
  absl::Status (*run)();
};

// Is the whole main() of a daemon: reads flags, holds termination signals,
// starts the log and runs it. --log_format and --log_level are flags of every
// daemon. Returns the exit code: 0, 2 for flags that the caller must correct,
// or 1 for other errors. Prints errors to stderr.
int RunDaemon(int argc, char** argv, const Daemon& daemon);

// Switches off the search for deadlocks at each lock of Abseil, which Debian
// builds in. It takes some percent of a short call, and would end the daemon.
// Tests keep it.
void LeaveDeadlocksToTests();

}  // namespace tangram

#endif  // TANGRAM_COMMON_DAEMON_DAEMON_H_
