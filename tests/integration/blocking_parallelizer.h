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
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram::testing {

// What a test knows of and tells a BlockingParallelizer.
struct Gate {
  std::atomic<bool> is_open = false;
  std::atomic<int> num_waiting = 0;
  std::atomic<int> num_stopped = 0;
};

// "uniform" behind a gate: searches wait until it is open or they are told to
// stop.
class BlockingParallelizer : public Parallelizer {
 public:
  explicit BlockingParallelizer(Gate& gate)
      : gate_(gate), uniform_(*CreateBuiltinParallelizer("uniform")) {}

  std::string name() const override { return uniform_->name(); }
  std::string version() const override { return uniform_->version(); }
  ParallelizerFeatures features() const override {
    return uniform_->features();
  }
  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) const override {
    return uniform_->SliceModel(model);
  }
  absl::StatusOr<ModelSlice> Concatenate(
      const ModelSlice& head, const ModelSlice& tail) const override {
    return uniform_->Concatenate(head, tail);
  }
  absl::StatusOr<PerformanceProfile> Profile(
      const ModelSlice& slice, const IslandSpec& island,
      const ProfileOptions& options) const override {
    return uniform_->Profile(slice, island, options);
  }
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
    return uniform_->Parallelize(slice, island, options);
  }

 private:
  Gate& gate_;
  const std::unique_ptr<Parallelizer> uniform_;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_INTEGRATION_BLOCKING_PARALLELIZER_H_
