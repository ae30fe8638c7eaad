#ifndef TANGRAM_TESTS_TESTING_RANDOM_MAX_PLUS_H_
#define TANGRAM_TESTS_TESTING_RANDOM_MAX_PLUS_H_

#include <algorithm>
#include <random>
#include <vector>

#include "common/sim/max_plus_program.h"

namespace tangram::testing {

// Returns M(x), one step after the other.
inline std::vector<Ticks> Apply(const MaxPlusProgram& program,
                                std::vector<Ticks> t) {
  for (const MaxPlusStep& step : program.steps) {
    t.push_back(std::max(t[step.a], t[step.b]) + step.duration);
  }
  std::vector<Ticks> y;
  for (const int32_t output : program.outputs) y.push_back(t[output]);
  return y;
}

// Small programs whose times wait for each other in many ways.
class RandomMaxPlus {
 public:
  explicit RandomMaxPlus(uint32_t seed) : generator_(seed) {}

  MaxPlusProgram NextProgram() {
    MaxPlusProgram program;
    const int n = Integer(1, 6);
    int num_times = n;
    for (int k = Integer(0, 15); k > 0; --k, ++num_times) {
      const int a = Integer(0, num_times - 1);
      const int b = Integer(0, 2) == 0 ? a : Integer(0, num_times - 1);
      program.steps.push_back({a, b, Integer(0, 1) == 0 ? 0 : Integer(0, 100)});
    }
    for (int i = 0; i < n; ++i) {
      program.outputs.push_back(Integer(0, num_times - 1));
    }
    return program;
  }

  std::vector<Ticks> NextTimes(int n) {
    std::vector<Ticks> times;
    for (int i = 0; i < n; ++i) times.push_back(Integer(0, 1000));
    return times;
  }

  int Integer(int low, int high) {
    return low + static_cast<int>(generator_() % (high - low + 1));
  }

 private:
  std::mt19937 generator_;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_RANDOM_MAX_PLUS_H_
