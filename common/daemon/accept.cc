#include "common/daemon/accept.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <thread>

#include "common/obs/sparse_warning.h"

namespace tangram {
namespace {

constexpr rlim_t kMostUnused = 1024;
constexpr std::chrono::milliseconds kPause(10);

// A connection of this number or a greater one is closed. The system gives the
// least number that is free, so that it tells how many are in use.
std::atomic<int> first_refused = INT_MAX;

bool IsShortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS ||
         error == ENOMEM;
}

void TellOfRefusal() {
  static SparseWarning& warning = *new SparseWarning("connection refused");
  warning.Tell("few descriptors are left");
}

int AcceptOne(int socket, sockaddr* address, socklen_t* length, int flags) {
  return static_cast<int>(syscall(SYS_accept4, socket, address, length, flags));
}

}  // namespace

void KeepDescriptorsUnused() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t most = std::min<rlim_t>(limit.rlim_cur, INT_MAX);
  first_refused = static_cast<int>(most - std::min(kMostUnused, most / 4));
}

}  // namespace tangram

// Stands before that of the C library for the libraries that listen: they have
// no limit of their own, or one that knows nothing of the others.
extern "C" __attribute__((visibility("default"))) int accept4(int socket,
                                                              sockaddr* address,
                                                              socklen_t* length,
                                                              int flags) {
  const socklen_t room = length == nullptr ? 0 : *length;
  while (true) {
    const int accepted = tangram::AcceptOne(socket, address, length, flags);
    if (accepted >= 0 && accepted < tangram::first_refused) return accepted;
    if (accepted < 0) {
      if (!tangram::IsShortage(errno)) return accepted;
      // Whoever calls tries again after this.
      std::this_thread::sleep_for(tangram::kPause);
      errno = EINTR;
      return accepted;
    }
    close(accepted);
    tangram::TellOfRefusal();
    if (length != nullptr) *length = room;
  }
}
