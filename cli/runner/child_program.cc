#include "cli/runner/child_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "cli/planning/interrupt.h"

namespace tangram {
namespace {

// Shells report a command that they cannot start so.
constexpr int kCannotStart = 127;
// Commands of tangram end within 1 s of a signal.
constexpr unsigned kGraceSeconds = 1;

// Globals, because a signal handler cannot reach anything else.
std::atomic<pid_t> group = 0;
std::atomic<bool> interrupted = false;
static_assert(std::atomic<pid_t>::is_always_lock_free);

void EndGroup(int /*signal*/) {
  interrupted = true;
  kill(-group, SIGTERM);
  alarm(kGraceSeconds);
}

void KillGroup(int /*signal*/) { kill(-group, SIGKILL); }

// Handles the signals that end a command; restores the former handlers.
class GroupSignals {
 public:
  GroupSignals() {
    for (size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction action = {};
      action.sa_flags = SA_RESTART;
      action.sa_handler = kSignals[i] == SIGALRM ? KillGroup : EndGroup;
      sigaction(kSignals[i], &action, &former_[i]);
    }
  }
  GroupSignals(const GroupSignals&) = delete;
  GroupSignals& operator=(const GroupSignals&) = delete;
  ~GroupSignals() {
    alarm(0);
    for (size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], &former_[i], nullptr);
    }
  }

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGALRM};
  std::array<struct sigaction, kSignals.size()> former_;
};

[[noreturn]] void BecomeProgram(pid_t parent, bool is_silent,
                                char* const argv[]) {
  setpgid(0, 0);
  // The parent may die before the kernel starts to watch it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotStart);
  const int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  if (is_silent) {
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
  }
  execvp(argv[0], argv);
  _exit(kCannotStart);
}

// Waits for the leader, ends the rest of its group, and returns the leader's
// status. The leader stays unreaped until then, so that its group cannot be
// another's.
int ReapGroup(pid_t leader) {
  siginfo_t info = {};
  while (waitid(P_PID, leader, &info, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  kill(-leader, SIGKILL);
  int status = 0;
  waitpid(leader, &status, 0);
  // As subreaper, this process is the parent of what the leader left.
  while (waitpid(-leader, nullptr, 0) > 0) {
  }
  return status;
}

}  // namespace

absl::StatusOr<int> RunChildProgram(std::vector<std::string> words,
                                    bool is_silent) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return absl::ErrnoToStatus(errno, "fork");
  if (child == 0) BecomeProgram(parent, is_silent, argv.data());
  setpgid(child, child);  // In both processes: either may come first.
  group = child;
  const GroupSignals signals;
  if (Interrupted()) EndGroup(SIGTERM);  // It came before the handler.
  const int status = ReapGroup(child);
  if (interrupted) return absl::CancelledError("interrupted");
  return WIFEXITED(status) ? WEXITSTATUS(status)
                           : kKilledBySignal + WTERMSIG(status);
}

}  // namespace tangram
