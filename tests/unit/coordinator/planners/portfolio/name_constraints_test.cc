#include "coordinator/planners/portfolio/name_constraints.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::StatusIs;

PlanResult NoPlan() {
  return {.infeasible = Infeasible{.reason = "too small"}};
}

PlanResult PlanOf(double seconds) {
  return {.plan = PipelinePlan(), .evaluation = {.iteration_time_s = seconds}};
}

const PlanRequest kTpAndRuntime = {
    .constraints = {.tp_degrees = {{"", 3}}, .runtime = "sailor"}};

TEST(NameConstraintsTest, TheOneToBlameIsNamedWithWhatItCosts) {
  PlanResult result = NoPlan();
  ASSERT_THAT(NameConstraints(
                  kTpAndRuntime,
                  [](const PlanRequest& request) -> absl::StatusOr<PlanResult> {
                    return request.constraints.tp_degrees.empty() ? PlanOf(2.5)
                                                                  : NoPlan();
                  },
                  result),
              IsOk());
  EXPECT_THAT(result.infeasible->reason,
              AllOf(HasSubstr("too small; with all constraints but \"tp 3\" "
                              "there is a plan of 2.50 s"),
                    Not(HasSubstr("sailor"))));
}

TEST(NameConstraintsTest, OrAllOfThemTogether) {
  PlanResult result = NoPlan();
  ASSERT_THAT(NameConstraints(
                  kTpAndRuntime,
                  [](const PlanRequest& request) -> absl::StatusOr<PlanResult> {
                    return request.constraints.none() ? PlanOf(2.5) : NoPlan();
                  },
                  result),
              IsOk());
  EXPECT_THAT(result.infeasible->reason,
              HasSubstr("without any of the constraints there is a plan"));
}

TEST(NameConstraintsTest, OrNone) {
  PlanResult result = NoPlan();
  const auto never = [](const PlanRequest&) -> absl::StatusOr<PlanResult> {
    return NoPlan();
  };
  ASSERT_THAT(NameConstraints(kTpAndRuntime, never, result), IsOk());
  EXPECT_THAT(result.infeasible->reason,
              HasSubstr("nor is there a plan without the constraints"));

  result = NoPlan();
  ASSERT_THAT(NameConstraints({}, never, result), IsOk());
  EXPECT_EQ(result.infeasible->reason, "too small");
}

TEST(NameConstraintsTest, ASearchThatMetALimitProvesNothing) {
  PlanResult result = NoPlan();
  const auto never = [](const PlanRequest&) -> absl::StatusOr<PlanResult> {
    PlanResult none = NoPlan();
    none.limits = {"cut short"};
    return none;
  };
  ASSERT_THAT(NameConstraints(kTpAndRuntime, never, result), IsOk());
  EXPECT_THAT(result.infeasible->reason,
              HasSubstr("nor was a plan found without the constraints"));
}

TEST(NameConstraintsTest, ErrorsArePassedOn) {
  PlanResult result = NoPlan();
  EXPECT_THAT(NameConstraints(
                  kTpAndRuntime,
                  [](const PlanRequest&) -> absl::StatusOr<PlanResult> {
                    return absl::CancelledError("stopped");
                  },
                  result),
              StatusIs(absl::StatusCode::kCancelled, "stopped"));
}

}  // namespace
}  // namespace tangram
