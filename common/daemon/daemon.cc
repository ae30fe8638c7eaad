#include "common/daemon/daemon.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/base/printable_text.h"
#include "common/base/status_macros.h"
#include "common/daemon/accept.h"
#include "common/obs/build_info.h"
#include "common/obs/log.h"
#include "common/obs/termination.h"

ABSL_FLAG(std::string, log_format, "text", "Format of the log: text or json.");
ABSL_FLAG(std::string, log_level, "info",
          "Least level that is logged: debug, info, warning or error.");

namespace tangram {
namespace {

// Returns whether --help lists the flags of a file. By default it knows only a
// file named after the program.
bool HasOurFlags(absl::string_view file) {
  return absl::EndsWith(file, "/main.cc") || absl::EndsWith(file, "/daemon.cc");
}

// Turns --drain-s=5 into --drain_s=5, because the command `tangram` writes its
// options with dashes.
void AllowDashesInNames(int argc, char** argv) {
  for (int i = 1; i < argc && absl::string_view(argv[i]) != "--"; ++i) {
    if (!absl::StartsWith(argv[i], "--")) continue;
    for (char* c = argv[i] + 2; *c != '\0' && *c != '='; ++c) {
      if (*c == '-') *c = '_';
    }
  }
}

// Connections, files and databases take descriptors. The usual limit of 1,024
// is one that clients reach who only connect.
constexpr rlim_t kWantedFiles = 1 << 16;

void RaiseFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_cur >= kWantedFiles) return;
  limit.rlim_cur = std::min(kWantedFiles, limit.rlim_max);
  // If it cannot be raised, the daemon serves fewer connections.
  setrlimit(RLIMIT_NOFILE, &limit);
}

absl::Status StartLogFromFlags() {
  TANGRAM_ASSIGN_OR_RETURN(const LogFormat format,
                           ParseLogFormat(absl::GetFlag(FLAGS_log_format)));
  TANGRAM_ASSIGN_OR_RETURN(const LogLevel level,
                           ParseLogLevel(absl::GetFlag(FLAGS_log_level)));
  StartLog(format, level);
  return absl::OkStatus();
}

absl::Status Run(const Daemon& daemon, const std::vector<char*>& arguments) {
  if (arguments.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", arguments[1], "\"; expected flags alone"));
  }
  TANGRAM_RETURN_IF_ERROR(StartLogFromFlags());
  return daemon.run();
}

}  // namespace

void LeaveDeadlocksToTests() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

int RunDaemon(int argc, char** argv, const Daemon& daemon) {
  absl::FlagsUsageConfig config;
  config.contains_help_flags = HasOurFlags;
  config.contains_helpshort_flags = HasOurFlags;
  config.version_string = [&daemon] {
    return absl::StrCat(daemon.program, " ", Version(), "\n");
  };
  absl::SetFlagsUsageConfig(config);
  absl::SetProgramUsageMessage(daemon.usage);
  AllowDashesInNames(argc, argv);
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  HoldTerminationSignals();
  RaiseFileLimit();
  KeepDescriptorsUnused();
  LeaveDeadlocksToTests();
  const absl::Status status = Run(daemon, arguments);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", daemon.program,
               EscapedControls(status.message()).c_str());
  return absl::IsInvalidArgument(status) ? 2 : 1;
}

}  // namespace tangram
