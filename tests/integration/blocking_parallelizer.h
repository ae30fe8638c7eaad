#ifndef TANGRAM_TESTS_INTEGRATION_BLOCKING_PARALLELIZER_H_
#define TANGRAM_TESTS_INTEGRATION_BLOCKING_PARALLELIZER_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/parallelizer/parallelizer.h"
#include "tests/testing/forwarding_parallelizer.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram::testing {

// Controls a BlockingParallelizer and counts its searches.
struct Gate {
  std::atomic<bool> is_open = false;
  std::atomic<int> num_waiting = 0;
  std::atomic<int> num_stopped = 0;
};

// "uniform" behind a gate: searches wait until the gate opens or they are told
// to stop.
class BlockingParallelizer : public ForwardingParallelizer {
 public:
  explicit BlockingParallelizer(Gate& gate)
      : gate_(gate), uniform_(*CreateBuiltinParallelizer("uniform")) {}

  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    ++gate_.num_waiting;
    while (!gate_.is_open) {
      if (options.should_stop && options.should_stop()) {
        --gate_.num_waiting;
        ++gate_.num_stopped;
        return SlicePlanSet{.truncated = true};
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    --gate_.num_waiting;
    return ForwardingParallelizer::Parallelize(slice, island, options);
  }

 private:
  const Parallelizer& target() const override { return *uniform_; }

  Gate& gate_;
  const std::unique_ptr<Parallelizer> uniform_;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_INTEGRATION_BLOCKING_PARALLELIZER_H_
