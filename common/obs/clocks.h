#ifndef TANGRAM_COMMON_OBS_CLOCKS_H_
#define TANGRAM_COMMON_OBS_CLOCKS_H_

#include <chrono>
#include <cstdint>

namespace tangram {

// Returns the seconds of a clock that never goes back.
inline double SteadySeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Returns the seconds since 1970.
inline double UnixSeconds() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Returns the nanoseconds since 1970.
inline int64_t UnixNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_OBS_CLOCKS_H_
