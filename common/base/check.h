#ifndef TANGRAM_COMMON_BASE_CHECK_H_
#define TANGRAM_COMMON_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

// Aborts if one of our own invariants does not hold, also in release builds.
// Input from outside is never checked with it.
#define TANGRAM_CHECK(condition)                                            \
  do {                                                                      \
    if (!(condition)) {                                                     \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, \
                   #condition);                                             \
      std::abort();                                                         \
    }                                                                       \
  } while (false)

#endif  // TANGRAM_COMMON_BASE_CHECK_H_
