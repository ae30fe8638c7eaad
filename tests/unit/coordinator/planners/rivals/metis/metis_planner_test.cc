#include "coordinator/planners/rivals/metis/metis_planner.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/sim/evaluate_plan.h"
#include "coordinator/planners/judge/judged_planner.h"
#include "formats/config/device_catalogue.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::TestGroup;

TestGroup Group(const std::string& type, int num_nodes, int gpus_per_node) {
  return {.name = type,
          .num_nodes = num_nodes,
          .gpus_per_node = gpus_per_node,
          .device = FindDevice(type)->device};
}

PlanRequest Request(const std::vector<TestGroup>& groups, int batch = 16) {
  return {.cluster = testing::TestCluster(groups),
          .model = testing::TestModel(6, 2048),
          .training = testing::TestTraining(batch)};
}

absl::StatusOr<PlanResult> Plan(const PlanRequest& request,
                                const PlannerOptionText& text = {}) {
  const PlannerInfo info = MetisPlanner();
  auto values = ParseOptions(info.name, info.options, text);
  if (!values.ok()) return values.status();
  // It asks no source.
  SlicePlanSource* const none = nullptr;
  const auto planner =
      CreateJudgedPlanner(info.create(*none, {}, *values, {}), JudgeOptions());
  testing::SilentObserver observer;
  return planner->Plan(request, observer);
}

void ExpectRuns(const PlanRequest& request, const PlanResult& result) {
  ASSERT_TRUE(result.plan.has_value()) << result.infeasible->reason;
  EXPECT_THAT(ValidatePlan(request.model, request.cluster, request.training,
                           *result.plan),
              testing::IsOk());
  EXPECT_GT(result.closed_form_s, 0);
  int num_gpus = 0;
  for (const PlacedStage& stage : result.plan->stages) {
    num_gpus += static_cast<int>(stage.gpus.size());
  }
  EXPECT_EQ(num_gpus, request.cluster->num_gpus());
}

TEST(MetisPlannerTest, PlansUnlikeGpus) {
  const PlanRequest request =
      Request({Group("T4", 2, 2), Group("V100-16", 2, 2)});
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
  ExpectRuns(request, result);
}

TEST(MetisPlannerTest, PlansOneTypeAndAnyNumberOfGpus) {
  const PlanRequest request = Request({Group("V100-16", 3, 2)});
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       Plan(request, {{"min_group_scale_variance", "0.5"}}));
  ExpectRuns(request, result);
}

TEST(MetisPlannerTest, PlansNodesOfUnlikeSizes) {
  const PlanRequest request =
      Request({Group("V100-16", 1, 4), Group("T4", 2, 2)});
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
  ExpectRuns(request, result);
  // T4 have no profile of tp 4 there.
  ASSERT_OK_AND_ASSIGN(const PlanResult upstream,
                       Plan(request, {{"mode", "upstream"}}));
  ASSERT_FALSE(upstream.plan.has_value());
  EXPECT_THAT(upstream.infeasible->reason, HasSubstr("not profiled"));
}

TEST(MetisPlannerTest, UpstreamModePlansNodesOfUnlikeSizes) {
  const PlanRequest request =
      Request({Group("V100-16", 1, 4), Group("T4", 2, 2)});
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       Plan(request, {{"mode", "upstream"}, {"max_tp", "2"}}));
  ExpectRuns(request, result);
}

TEST(MetisPlannerTest, PlansABatchThatIsNoPowerOfTwo) {
  const PlanRequest request = Request({Group("V100-16", 2, 2)}, 24);
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
  ExpectRuns(request, result);
}

TEST(MetisPlannerTest, UpstreamModeSaysWhyItHasNoPlan) {
  ASSERT_OK_AND_ASSIGN(
      const PlanResult result,
      Plan(Request({Group("V100-16", 3, 2)}), {{"mode", "upstream"}}));
  ASSERT_FALSE(result.plan.has_value());
  EXPECT_THAT(result.infeasible->reason, HasSubstr("6 cannot be one stage"));
}

TEST(MetisPlannerTest, SaysThatNothingFits) {
  PlanRequest request = Request({Group("T4", 1, 2)});
  request.model = testing::TestModel(96, 4096);
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
  ASSERT_FALSE(result.plan.has_value());
  EXPECT_THAT(result.infeasible->reason, HasSubstr("no plan fits in memory"));
  EXPECT_GT(result.infeasible->bytes_short, 0);
}

TEST(MetisPlannerTest, SaysWhereTheSearchEnded) {
  ASSERT_OK_AND_ASSIGN(
      const PlanResult result,
      Plan(Request({Group("T4", 1, 1)}),
           {{"max_inter_stage_plans", "1"}, {"max_bs", "16"}}));
  EXPECT_THAT(result.notes, Contains(HasSubstr("of 1 divisions")));
}

}  // namespace
}  // namespace tangram
