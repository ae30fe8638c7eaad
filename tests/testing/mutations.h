#ifndef TANGRAM_TESTS_TESTING_MUTATIONS_H_
#define TANGRAM_TESTS_TESTING_MUTATIONS_H_

#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "gtest/gtest.h"

namespace tangram::testing {

// Makes one to eight random edits: changes bytes, cuts out, repeats or moves
// runs, or cuts off the end.
inline std::string Mutated(std::string text, std::mt19937& rng) {
  const auto below = [&rng](size_t n) { return n == 0 ? 0 : rng() % n; };
  const int num_edits = 1 + static_cast<int>(below(8));
  for (int edit = 0; edit < num_edits && !text.empty(); ++edit) {
    const size_t at = below(text.size());
    const size_t length = 1 + below(20);
    switch (below(5)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text[at] = "[]{}(),:=\"'<>/\n\t0129-"[below(22)];
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(below(text.size()), text.substr(at, length));
        break;
      default:
        if (below(8) == 0) text.resize(at);
    }
  }
  return text;
}

// Calls `check` on `count` mutations of `text`. A failure shows the seed.
inline void ForEachMutation(
    const std::string& text, int count,
    const std::function<void(const std::string&)>& check) {
  for (int seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(static_cast<uint32_t>(seed));
    check(Mutated(text, rng));
  }
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_MUTATIONS_H_
