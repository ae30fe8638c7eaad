#include "cli/planning/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "cli/args/exit_code.h"

namespace tangram {
namespace {

// A signal handler has nothing but globals to tell the program with.
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

// A plan stops within a second of a cancel. After that the signal ends the
// process.
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
