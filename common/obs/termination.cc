#include "common/obs/termination.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "common/base/check.h"

namespace tangram {
namespace {

constexpr int kSignals[] = {SIGTERM, SIGINT};

// The numbers of signals that have come. A pipe, because a handler may write to
// one.
int come[2] = {-1, -1};

void Remember(int signal) {
  const int its_errno = errno;  // The interrupted code keeps it.
  const char number = static_cast<char>(signal);
  // A full pipe holds the first signal, which is all that a wait needs.
  [[maybe_unused]] const ssize_t written = write(come[1], &number, 1);
  errno = its_errno;
}

}  // namespace

void HoldTerminationSignals() {
  TANGRAM_CHECK(pipe2(come, O_CLOEXEC | O_NONBLOCK) == 0);
  sigset_t held;
  sigemptyset(&held);
  // Libraries start threads before main(), OpenBLAS for one. These block no
  // signal, so a signal that all others block goes to them. The handler keeps
  // it from ending the process.
  struct sigaction action = {};
  action.sa_handler = Remember;
  action.sa_flags = SA_RESTART;
  for (const int signal : kSignals) {
    sigaddset(&held, signal);
    sigaction(signal, &action, nullptr);
  }
  pthread_sigmask(SIG_BLOCK, &held, nullptr);
}

int WaitForTermination() {
  sigset_t none;
  sigemptyset(&none);
  char signal = 0;
  while (read(come[0], &signal, 1) != 1) {
    pollfd readable = {.fd = come[0], .events = POLLIN};
    ppoll(&readable, 1, nullptr, &none);
  }
  return signal;
}

void RequestTermination() { kill(getpid(), SIGTERM); }

}  // namespace tangram
