#ifndef TANGRAM_COMMON_BASE_CHECK_H_
#define TANGRAM_COMMON_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

// For our own invariants only: input from outside is never checked with it.
// Stays on in release builds.
#define TANGRAM_CHECK(condition)                                            \
  do {                                                                      \
    if (!(condition)) {                                                     \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, \
                   #condition);                                             \
      std::abort();                                                         \
    }                                                                       \
  } while (false)

#endif  // TANGRAM_COMMON_BASE_CHECK_H_
