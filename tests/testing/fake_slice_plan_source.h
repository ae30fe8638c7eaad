#ifndef TANGRAM_TESTS_TESTING_FAKE_SLICE_PLAN_SOURCE_H_
#define TANGRAM_TESTS_TESTING_FAKE_SLICE_PLAN_SOURCE_H_

#include <functional>
#include <vector>

#include "common/parallelizer/slice_plan_source.h"

namespace tangram::testing {

// Answers every pair with one stage on one GPU that takes as many seconds as
// the slice has layers, times the microbatch size, times `seconds_per_layer`
// of the island. Keeps every query.
class FakeSlicePlanSource : public SlicePlanSource {
 public:
  // By device type; default 1.
  std::function<double(const IslandSpec&)> seconds_per_layer =
      [](const IslandSpec&) { return 1.0; };
  // How many trailing stages a plan asked for with `trailing` bears.
  std::function<int(int trailing)> bears = [](int) {
    return kUnlimitedTrailingStages;
  };
  // What Parallelize returns instead of answers, if not OK.
  absl::Status parallelize_status;
  // Nothing fits.
  bool infeasible = false;

  int concatenations = 0;  // Batches of joins so far.
  std::vector<PairQuery> queries;
  std::vector<StageLimits> limits;  // Of the islands asked about last.

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
