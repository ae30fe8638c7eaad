#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_NO_SLICE_PLANS_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_NO_SLICE_PLANS_H_

#include <vector>

#include "absl/status/status.h"
#include "common/parallelizer/slice_plan_source.h"

namespace tangram {

// The source of a planner that asks no parallelizer. All questions are errors.
class NoSlicePlans : public SlicePlanSource {
 public:
  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& /*model*/) override {
    return Error();
  }
  absl::StatusOr<std::vector<ModelSlice>> Concatenate(
      absl::Span<const ConcatenateQuery> /*queries*/) override {
    return Error();
  }
  absl::StatusOr<std::vector<PerformanceProfile>> Profile(
      const PairContext& /*context*/,
      absl::Span<const ProfileQuery> /*queries*/) override {
    return Error();
  }
  absl::StatusOr<std::vector<SlicePlanSet>> Parallelize(
      const PairContext& /*context*/, absl::Span<const PairQuery> /*queries*/,
      const Progress& /*progress*/) override {
    return Error();
  }

 private:
  static absl::Status Error() {
    return absl::InternalError(
        "a planner that declares no parallelizers asked one");
  }
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_NO_SLICE_PLANS_H_
