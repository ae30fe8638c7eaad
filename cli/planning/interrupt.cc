#include "cli/planning/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "cli/args/exit_code.h"

namespace tangram {
namespace {

// A global, because a signal handler cannot reach anything else.
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

// A plan stops within 1 s of a cancel. Later, the alarm ends the process.
constexpr unsigned kGraceSeconds = 1;

void OnInterrupt(int /*signal*/) {
  interrupted = true;
  alarm(kGraceSeconds);
}

void OnAlarm(int /*signal*/) {
  _exit(static_cast<int>(ExitCode::kInterrupted));
}

}  // namespace

void HandleInterrupts() {
  struct sigaction action = {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = OnInterrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = OnAlarm;
  sigaction(SIGALRM, &action, nullptr);
}

bool Interrupted() { return interrupted; }

}  // namespace tangram
