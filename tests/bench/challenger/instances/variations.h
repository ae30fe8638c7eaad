#ifndef TANGRAM_TESTS_BENCH_CHALLENGER_INSTANCES_VARIATIONS_H_
#define TANGRAM_TESTS_BENCH_CHALLENGER_INSTANCES_VARIATIONS_H_

#include <string>
#include <vector>

#include "tests/bench/challenger/instances/instance.h"

namespace tangram::bench {

// The best plan of `more` is at least as fast as that of `less`, as every plan
// of `less` is one of `more`, and as fast there.
struct Variation {
  std::string check;  // One of Checks().
  std::string what;   // "a node more in g1".
  Instance less;
  Instance more;
};

// The names of the checks: "node", "island", "memory", "compute", "links",
// "microbatch", "tp1", "dp1", "stages3". Beside them is kBoundCheck.
std::vector<std::string> Checks();

// No plan is faster than its own lower bound.
inline constexpr char kBoundCheck[] = "bound";

// Returns all variations of an instance without constraints.
std::vector<Variation> VariationsOf(const Instance& instance);

}  // namespace tangram::bench

#endif  // TANGRAM_TESTS_BENCH_CHALLENGER_INSTANCES_VARIATIONS_H_
