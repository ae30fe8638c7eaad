#ifndef TANGRAM_TESTS_BENCH_LOAD_IDLE_STREAMS_H_
#define TANGRAM_TESTS_BENCH_LOAD_IDLE_STREAMS_H_

#include <functional>
#include <string>

namespace tangram::bench {

// Simulates `count` workers without leases by their streams, each with its own
// connection. Calls `on_ready` once the coordinator has answered all. Aborts if
// a stream ends.
[[noreturn]] void RunIdleStreams(const std::string& address, int count,
                                 const std::function<void()>& on_ready);

}  // namespace tangram::bench

#endif  // TANGRAM_TESTS_BENCH_LOAD_IDLE_STREAMS_H_
