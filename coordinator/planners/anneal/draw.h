#ifndef TANGRAM_COORDINATOR_PLANNERS_ANNEAL_DRAW_H_
#define TANGRAM_COORDINATOR_PLANNERS_ANNEAL_DRAW_H_

#include <cstdint>
#include <random>

#include "common/base/check.h"

namespace tangram::anneal {

// Seeded random numbers. The distributions of the standard library differ
// between its versions, so these are made here.
class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}

  // Returns an integer in [0, n).
  int Below(int n) {
    TANGRAM_CHECK(n > 0);
    return static_cast<int>(engine_() % static_cast<uint64_t>(n));
  }

  // Returns a number in (0, 1].
  double Fraction() {
    return (static_cast<double>(engine_() >> 11) + 1) * 0x1p-53;
  }

  bool OneIn(int n) { return Below(n) == 0; }

  // Returns an element of a list that is not empty.
  template <typename List>
  auto Of(const List& list) {
    return list[Below(static_cast<int>(list.size()))];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace tangram::anneal

#endif  // TANGRAM_COORDINATOR_PLANNERS_ANNEAL_DRAW_H_
