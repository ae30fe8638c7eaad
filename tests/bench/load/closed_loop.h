#ifndef TANGRAM_TESTS_BENCH_LOAD_CLOSED_LOOP_H_
#define TANGRAM_TESTS_BENCH_LOAD_CLOSED_LOOP_H_

#include <functional>
#include <string>

namespace tangram::bench {

// Result of threads that each make one call after the other.
struct LoopResult {
  double calls_per_s = 0;
  double p50_s = 0;
  double p99_s = 0;
};

// Runs the loop. Each thread calls `make_caller` once; the function that it
// returns makes one call. Calls in the first tenth of the time do not count.
LoopResult RunClosedLoop(
    int num_threads, double seconds,
    const std::function<std::function<void()>()>& make_caller);

// Returns one line of JSON.
std::string ToJson(const LoopResult& result);

}  // namespace tangram::bench

#endif  // TANGRAM_TESTS_BENCH_LOAD_CLOSED_LOOP_H_
