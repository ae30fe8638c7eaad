#ifndef TANGRAM_TESTS_UNIT_COORDINATOR_DISPATCH_COUNTING_PARALLELIZER_H_
#define TANGRAM_TESTS_UNIT_COORDINATOR_DISPATCH_COUNTING_PARALLELIZER_H_

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/parallelizer/parallelizer.h"
#include "common/parallelizer/slice_plan_source.h"
#include "tests/testing/builders.h"

namespace tangram::testing {

// Returns a right answer to any pair, identified by its steps.
inline SlicePlanSet CountedAnswer(int64_t steps) {
  return {.infeasible = Infeasible{.reason = "only counted"},
          .search_steps = steps};
}

// Answers a pair with a value that identifies it: its max_search_steps. Counts
// its calls and fails on demand. Thread-safe if `fail` is.
class CountingParallelizer : public Parallelizer {
 public:
  std::string name() const override { return "counting"; }
  std::string version() const override { return "1"; }
  ParallelizerFeatures features() const override { return {}; }

  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) const override {
    ++num_calls;
    return SliceByLayer(model);
  }

  absl::StatusOr<ModelSlice> Concatenate(
      const ModelSlice& head, const ModelSlice& tail) const override {
    ++num_calls;
    return JoinSlices(head, tail);
  }

  absl::StatusOr<PerformanceProfile> Profile(
      const ModelSlice&, const IslandSpec&,
      const ProfileOptions& options) const override {
    ++num_calls;
    return PerformanceProfile{.min_gpu_seconds =
                                  1.0 * options.pipeline_microbatch_size};
  }

  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice&, const IslandSpec&,
      const ParallelizeOptions& options) const override {
    ++num_calls;
    if (fail && fail(options.max_search_steps)) {
      return absl::InvalidArgumentError(
          absl::StrCat("step ", options.max_search_steps));
    }
    return CountedAnswer(options.max_search_steps);
  }

  mutable std::atomic<int> num_calls = 0;
  std::function<bool(int64_t step)> fail;
};

// One slice and one island.
inline PairContext CountingContext() {
  return {.training = TestTraining(),
          .slices = SliceByLayer(TestModel(0)),
          .islands = {TestIsland(1, 4)}};
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_COORDINATOR_DISPATCH_COUNTING_PARALLELIZER_H_
