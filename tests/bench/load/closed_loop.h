#ifndef TANGRAM_TESTS_BENCH_LOAD_CLOSED_LOOP_H_
#define TANGRAM_TESTS_BENCH_LOAD_CLOSED_LOOP_H_

#include <functional>
#include <string>

namespace tangram::bench {

// Calls made one after the other by each of several threads.
struct LoopResult {
  double calls_per_s = 0;
  double p50_s = 0;
  double p99_s = 0;
};

// `make_caller` is called once a thread; what it returns makes one call. The
// calls of the first tenth of the time are not counted.
LoopResult RunClosedLoop(
    int num_threads, double seconds,
    const std::function<std::function<void()>()>& make_caller);

// One line of JSON.
std::string ToJson(const LoopResult& result);

}  // namespace tangram::bench

#endif  // TANGRAM_TESTS_BENCH_LOAD_CLOSED_LOOP_H_
