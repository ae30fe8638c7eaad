#ifndef TANGRAM_TESTS_TESTING_LYING_PARALLELIZER_H_
#define TANGRAM_TESTS_TESTING_LYING_PARALLELIZER_H_

#include <memory>
#include <utility>

#include "tests/testing/forwarding_parallelizer.h"

namespace tangram::testing {

// Plans as if every GPU had `factor` times its memory. So its answers claim
// that slices fit, and allow trailing stages, where they do not.
class LyingParallelizer : public ForwardingParallelizer {
 public:
  LyingParallelizer(std::unique_ptr<Parallelizer> honest, double factor)
      : honest_(std::move(honest)), factor_(factor) {}

  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    IslandSpec larger = island;
    larger.device.memory_bytes *= factor_;
    return honest_->Parallelize(slice, larger, options);
  }

 private:
  const Parallelizer& target() const override { return *honest_; }

  const std::unique_ptr<Parallelizer> honest_;
  const double factor_;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_LYING_PARALLELIZER_H_
