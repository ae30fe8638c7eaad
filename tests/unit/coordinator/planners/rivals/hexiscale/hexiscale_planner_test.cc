#include "coordinator/planners/rivals/hexiscale/hexiscale_planner.h"

#include <string>
#include <vector>

#include "coordinator/planners/rivals/hexiscale/hexiscale_request.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/planning/planning.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::PlanLocally;
using testing::TestGroup;

TestGroup Nodes(const std::string& name, int num_nodes, int gpus_per_node = 4) {
  return {.name = name,
          .num_nodes = num_nodes,
          .gpus_per_node = gpus_per_node,
          .device = testing::TestDevice()};
}

PlanRequest RequestOn(const std::vector<TestGroup>& groups,
                      double between_bytes_per_s = 1e9) {
  return {.cluster = testing::TestCluster(groups, between_bytes_per_s),
          .model = testing::TestModel(8, 1024),
          .training = testing::TestTraining(32)};
}

absl::StatusOr<PlanResult> Plan(const PlanRequest& request,
                                const PlannerOptionText& options = {}) {
  return PlanLocally(request, "uniform", {}, 1, "hexiscale", options);
}

TEST(HexiscalePlannerTest, ReachedFlopsGiveTheTimesOfTheCostModel) {
  const PlanRequest request = RequestOn({Nodes("a", 1)});
  const LayerProfiles profiles =
      ProfileLayers(request.model, request.cluster, request.training,
                    {.max_tp_degree = 1, .max_samples = 2});
  const HexiscaleInput input = InputFor(request, profiles, 2);
  double seconds = 0;
  for (int l = 1; l <= 8; ++l) {
    const LayerProfile& layer = (*profiles.Find({0, 1, 2}))[l];
    seconds += layer.forward_s + layer.backward_s;
  }
  const HexiscaleModel& model = input.model;
  const double flops =
      3 * 2 * 512 * 8 * (2 * model.active_parameters + 4 * 512 * 1024.0);
  EXPECT_NEAR(flops / input.machines[0].flops_per_s, seconds, seconds * 1e-9);
  EXPECT_EQ(model.num_layers, 8);
  EXPECT_EQ(input.max_tp_degree, 8);
}

TEST(HexiscalePlannerTest, PlansOddClusters) {
  TestGroup slow = Nodes("slow", 1, 5);
  slow.device.peak_flops.fp16 /= 2;
  const std::vector<std::vector<TestGroup>> clusters = {
      {Nodes("one-gpu", 1, 1)},
      {Nodes("one-type", 2)},
      {Nodes("twelve", 3)},
      {Nodes("three", 1, 3), slow},
      {Nodes("wide", 1, 16)}};
  for (const auto& groups : clusters) {
    SCOPED_TRACE(groups[0].name);
    ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(RequestOn(groups)));
    EXPECT_TRUE(result.has_plan());
    EXPECT_GT(result.closed_form_s, 0);
  }
}

// Fast links to machines that hold the whole model: the batch is shared.
TEST(HexiscalePlannerTest, PlansSeveralPipelines) {
  PlanRequest request = RequestOn({Nodes("a", 16)}, 1e11);
  request.training.global_batch_size = 512;
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
  ASSERT_TRUE(result.replicated_plan.has_value());
  EXPECT_GT(result.replicated_plan->pipelines.size(), 1);
  EXPECT_THAT(ValidateReplicatedPlan(request.model, request.cluster,
                                     request.training, *result.replicated_plan),
              testing::IsOk());
}

TEST(HexiscalePlannerTest, PlansAsReleased) {
  const PlanRequest request = RequestOn({Nodes("a", 4)});
  ASSERT_OK_AND_ASSIGN(
      const PlanResult result,
      Plan(request, {{"mode", "upstream"}, {"first_pipelines", "2"}}));
  EXPECT_TRUE(result.has_plan());
}

TEST(HexiscalePlannerTest, RecomputesAllLayersOrNone) {
  const PlanRequest request = RequestOn({Nodes("a", 1)});
  for (const bool recompute : {false, true}) {
    ASSERT_OK_AND_ASSIGN(
        const PlanResult result,
        Plan(request, {{"recompute", recompute ? "true" : "false"}}));
    ASSERT_TRUE(result.plan.has_value());
    for (const RecomputeRun& run : result.plan->stages[0].plan.recompute) {
      if (run.num_layers == 1) continue;  // Embedding or head.
      EXPECT_EQ(run.mask != kRecomputeNone, recompute);
    }
  }
}

TEST(HexiscalePlannerTest, NoPlanHasAReason) {
  PlanRequest request = RequestOn({Nodes("a", 2)});
  for (Node& node : request.cluster.MakeOwn().nodes) {
    node.device.memory_bytes = 1e7;
  }
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
  EXPECT_FALSE(result.has_plan());
  EXPECT_THAT(result.infeasible->reason, HasSubstr("memory"));
  EXPECT_GT(result.infeasible->bytes_short, 0);

  // There are more GPUs than layers, so three pipelines or more.
  PlanRequest small = RequestOn({Nodes("a", 4)});
  small.training.global_batch_size = 2;
  ASSERT_OK_AND_ASSIGN(const PlanResult starved,
                       Plan(small, {{"mode", "upstream"}}));
  EXPECT_FALSE(starved.has_plan());
  EXPECT_THAT(starved.infeasible->reason, HasSubstr("can share the batch"));
  EXPECT_EQ(starved.infeasible->bytes_short, 0);

  const PlanRequest large = RequestOn({Nodes("a", 600)});
  ASSERT_OK_AND_ASSIGN(const PlanResult none, Plan(large));
  EXPECT_FALSE(none.has_plan());
  EXPECT_THAT(none.infeasible->reason, HasSubstr("at most 2048 GPUs"));
}

}  // namespace
}  // namespace tangram
