#include "common/parallelizer/check_figures.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "common/base/field_error.h"
#include "common/base/in_field.h"
#include "common/base/status_macros.h"
#include "common/parallelizer/plan_figures.h"

namespace tangram {
namespace {

// Searches add up the costs of layers in another order than EstimateStage. The
// relative difference between sums of n doubles is at most about n · 2^-53. So
// 1e-9 allows for more layers than a model has.
constexpr double kTolerance = 1e-9;

// Returns whether the relative difference is at most kTolerance. False for NaN.
bool IsClose(double found, double expected) {
  return std::abs(found - expected) <= kTolerance * std::abs(expected);
}

absl::Status CheckFigure(absl::string_view field, double found,
                         double expected) {
  if (IsClose(found, expected)) return absl::OkStatus();
  return FieldError(field, absl::StrFormat("%.12g", found),
                    absl::StrFormat("%.12g by the cost model", expected));
}

absl::Status CheckStage(const SliceStage& found, const StageFigures& expected) {
  TANGRAM_RETURN_IF_ERROR(CheckFigure("time_s", found.time_s, expected.time_s));
  TANGRAM_RETURN_IF_ERROR(
      CheckFigure("backward_s", found.backward_s, expected.backward_s));
  return CheckFigure("sync_s", found.sync_s, expected.sync_s);
}

// Checks the times of every stage, then max_trailing_stages.
absl::Status CheckPlan(const SlicePlan& plan, const PlanEstimator& estimator) {
  const std::vector<StageFigures> figures = estimator.FiguresOf(plan);
  for (int i = 0; i < plan.num_stages(); ++i) {
    TANGRAM_RETURN_IF_ERROR(
        InField("stages", i, CheckStage(plan.stages[i], figures[i])));
  }
  // The figure of a plan that fills memory to the byte may round either way.
  const int least = estimator.TrailingStages(figures, 1 - kTolerance);
  const int most = estimator.TrailingStages(figures, 1 + kTolerance);
  if (plan.max_trailing_stages >= least && plan.max_trailing_stages <= most) {
    return absl::OkStatus();
  }
  return FieldError("max_trailing_stages", plan.max_trailing_stages,
                    absl::StrCat(most, ", as memory bears"));
}

}  // namespace

absl::Status CheckFigures(const SlicePlanSet& answer, const ModelSlice& slice,
                          const IslandSpec& island,
                          const ParallelizeOptions& options) {
  const PlanEstimator estimator(slice, island, options);
  for (size_t i = 0; i < answer.plans.size(); ++i) {
    TANGRAM_RETURN_IF_ERROR(InField("plans", static_cast<int>(i),
                                    CheckPlan(answer.plans[i], estimator)));
  }
  return absl::OkStatus();
}

}  // namespace tangram
