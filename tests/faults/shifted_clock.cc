// A library to preload: the program sees the time of day as wrong as a file
// says. Clocks that only go on are right. libfaketime does the same, but hangs
// with jemalloc: it allocates when it is first asked for the time, and
// jemalloc asks for the time when memory is first allocated.
//
// TANGRAM_CLOCK_FILE names a file of 8 bytes, the seconds to add as a number of
// this machine. A change counts at once.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

using Seconds = std::atomic<int64_t>;

// Maps the file. Neither this nor its caller allocates.
const Seconds* MapShift() {
  static constexpr Seconds kNone = 0;
  const char* path = std::getenv("TANGRAM_CLOCK_FILE");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return &kNone;
  void* mapped = mmap(nullptr, sizeof(Seconds), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? &kNone : static_cast<const Seconds*>(mapped);
}

int64_t ShiftS() {
  static constinit std::atomic<const Seconds*> shift = nullptr;
  if (shift == nullptr) shift = MapShift();
  return *shift.load();
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const int result = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  if (result == 0 &&
      (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    now->tv_sec += ShiftS();
  }
  return result;
}

int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  timespec exact = {};
  const int result = clock_gettime(CLOCK_REALTIME, &exact);
  *now = {exact.tv_sec, exact.tv_nsec / 1000};
  return result;
}

time_t time(time_t* now) noexcept {
  timespec exact = {};
  clock_gettime(CLOCK_REALTIME, &exact);
  if (now != nullptr) *now = exact.tv_sec;
  return exact.tv_sec;
}

}  // extern "C"
