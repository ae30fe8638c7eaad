#ifndef TANGRAM_TESTS_TESTING_FAKE_SLICE_PLAN_SOURCE_H_
#define TANGRAM_TESTS_TESTING_FAKE_SLICE_PLAN_SOURCE_H_

#include <functional>
#include <vector>

#include "common/parallelizer/slice_plan_source.h"

namespace tangram::testing {

// Answers every pair with one stage on one GPU. Its time is the number of
// layers, times the microbatch size, times `seconds_per_layer` of the island.
// Keeps every query.
class FakeSlicePlanSource : public SlicePlanSource {
 public:
  // By device type; the default is 1.
  std::function<double(const IslandSpec&)> seconds_per_layer =
      [](const IslandSpec&) { return 1.0; };
  // Trailing stages that a plan allows if asked for with `trailing`.
  std::function<int(int trailing)> bears = [](int) {
    return kUnlimitedTrailingStages;
  };
  // Returned by Parallelize instead of answers, if not OK.
  absl::Status parallelize_status;
  // Whether nothing fits.
  bool infeasible = false;
  // Whether every answer was cut short.
  bool truncated = false;
  // Lower bound on the bytes of every slice.
  double min_total_bytes = 1;

  int concatenations = 0;  // Batches of joins so far.
  std::vector<PairQuery> queries;
  // Limits of the islands of the last question.
  std::vector<StageLimits> limits;

  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) override;
  absl::StatusOr<std::vector<ModelSlice>> Concatenate(
      absl::Span<const ConcatenateQuery> joins) override;
  absl::StatusOr<std::vector<PerformanceProfile>> Profile(
      const PairContext& context,
      absl::Span<const ProfileQuery> profile_queries) override;
  absl::StatusOr<std::vector<SlicePlanSet>> Parallelize(
      const PairContext& context, absl::Span<const PairQuery> pair_queries,
      const Progress& progress) override;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_FAKE_SLICE_PLAN_SOURCE_H_
