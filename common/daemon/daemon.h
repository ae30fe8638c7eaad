#ifndef TANGRAM_COMMON_DAEMON_DAEMON_H_
#define TANGRAM_COMMON_DAEMON_DAEMON_H_

#include "absl/status/status.h"

namespace tangram {

struct Daemon {
  const char* program;  // "tangram-worker"
  const char* usage;    // For --help, above the flags.
  // Returns once the daemon has been told to stop, and has.
  absl::Status (*run)();
};

// The whole of a daemon's main(): reads flags, of which --log_format and
// --log_level are every daemon's, holds termination signals, starts the log and
// runs it. Returns the exit code: 2 for what the caller has to mend in the
// flags, 1 for other errors, which stderr tells.
int RunDaemon(int argc, char** argv, const Daemon& daemon);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DAEMON_DAEMON_H_
