#include "coordinator/planners/rivals/amp/amp_planner.h"

#include <memory>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/planner/planner.h"
#include "coordinator/planners/judge/judged_planner.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::SilentObserver;
using testing::TestDevice;
using testing::TestGroup;

DeviceSpec Slow() {
  DeviceSpec device = TestDevice("SLOW");
  device.peak_flops = {.fp32 = 25e12, .fp16 = 25e12, .bf16 = 25e12};
  return device;
}

PlanRequest RequestOf(const std::vector<TestGroup>& groups, int batch = 16) {
  return {.cluster = testing::TestCluster(groups),
          .model = testing::TestModel(6),
          .training = testing::TestTraining(batch)};
}

absl::StatusOr<PlanResult> Plan(const PlanRequest& request,
                                const AmpOptions& options = {}) {
  SilentObserver observer;
  return CreateJudgedPlanner(CreateAmpPlanner(options), {})
      ->Plan(request, observer);
}

// Returns all proposals.
absl::StatusOr<std::vector<Proposal>> ProposalsOf(const PlanRequest& request,
                                                  const AmpOptions& options) {
  SilentObserver observer;
  const std::unique_ptr<Planner> planner = CreateAmpPlanner(options);
  TANGRAM_ASSIGN_OR_RETURN(std::unique_ptr<PlanSearch> search,
                           planner->Start(request, observer));
  std::vector<Proposal> proposals;
  while (true) {
    TANGRAM_ASSIGN_OR_RETURN(std::vector<Proposal> next, search->Propose({}));
    if (next.empty()) return proposals;
    for (Proposal& proposal : next) {
      if (proposal.make_plan) proposal.plan = proposal.make_plan();
      proposals.push_back(std::move(proposal));
    }
  }
}

TEST(AmpPlannerTest, ProposesValidPlansFastestFirst) {
  const PlanRequest request =
      RequestOf({{"a", 1, 4, TestDevice()}, {"b", 2, 2, Slow()}});
  for (const bool upstream : {false, true}) {
    ASSERT_OK_AND_ASSIGN(
        const std::vector<Proposal> proposals,
        ProposalsOf(request, {.upstream = upstream,
                              .recompute = {LayerRecompute::kNone}}));
    ASSERT_GT(proposals.size(), 3u);
    double last_s = 0;
    for (const Proposal& proposal : proposals) {
      EXPECT_THAT(ValidatePlan(request.model, request.cluster, request.training,
                               proposal.plan),
                  testing::IsOk());
      EXPECT_GE(proposal.predicted_s, last_s);
      last_s = proposal.predicted_s;
      int gpus = 0;
      for (const PlacedStage& stage : proposal.plan.stages) {
        gpus += static_cast<int>(stage.gpus.size());
      }
      EXPECT_EQ(gpus, 8);
    }
  }
}

TEST(AmpPlannerTest, CorrectedGivesFastGpusMoreLayers) {
  const PlanRequest request =
      RequestOf({{"a", 1, 1, TestDevice()}, {"b", 1, 1, Slow()}});
  const auto layers_of_first = [&](bool upstream) {
    const auto proposals =
        *ProposalsOf(request, {.upstream = upstream,
                               .recompute = {LayerRecompute::kNone},
                               .max_samples = 1});
    for (const Proposal& proposal : proposals) {
      if (proposal.plan.num_stages() == 2 &&
          proposal.plan.pipeline_microbatch_size == 1) {
        return proposal.plan.stages[0].plan.end.layer;
      }
    }
    return 0;
  };
  EXPECT_EQ(layers_of_first(true), 4);  // Half of eight.
  EXPECT_GT(layers_of_first(false), 4);
}

TEST(AmpPlannerTest, TakesNodesAndTotalsOfAnySize) {
  const PlanRequest request =
      RequestOf({{"a", 1, 2, TestDevice()}, {"b", 1, 1, Slow()}});
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
  ASSERT_TRUE(result.plan.has_value());
  EXPECT_EQ(result.plan->num_stages(), 3);
}

TEST(AmpPlannerTest, SaysIfAllPipelinesAreTooDeep) {
  // 11 stages, 8 layers, and a batch that no replicas divide.
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       Plan(RequestOf({{"a", 11, 1, TestDevice()}})));
  ASSERT_TRUE(result.infeasible.has_value());
  EXPECT_THAT(result.infeasible->reason, HasSubstr("the model's 8 layers"));
}

TEST(AmpPlannerTest, RecomputesOnlyIfNothingElseFits) {
  PlanRequest request = RequestOf({{"a", 1, 2, TestDevice()}}, 64);
  ASSERT_OK_AND_ASSIGN(const PlanResult roomy, Plan(request));
  EXPECT_EQ(roomy.plan->stages[0].plan.recompute.back().mask, kRecomputeNone);
  // Memory shrinks until plans without recomputation no longer fit.
  const AmpOptions without{.recompute = {LayerRecompute::kNone}};
  PlanResult none;
  for (double bytes = 2e9; !none.infeasible.has_value(); bytes *= 0.98) {
    for (Node& node : request.cluster.MakeOwn().nodes) {
      node.device.memory_bytes = bytes;
    }
    ASSERT_OK_AND_ASSIGN(none, Plan(request, without));
  }
  EXPECT_GT(none.infeasible->bytes_short, 0);
  ASSERT_OK_AND_ASSIGN(const PlanResult tight, Plan(request));
  ASSERT_TRUE(tight.plan.has_value());
  EXPECT_NE(tight.plan->stages[0].plan.recompute.back().mask, kRecomputeNone);
}

TEST(AmpPlannerTest, RefusesABadBatch) {
  EXPECT_THAT(Plan(RequestOf({{"a", 1, 2, TestDevice()}}, 0)),
              testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("global_batch_size: 0")));
}

TEST(AmpPlannerTest, Stops) {
  SilentObserver observer;
  observer.stop = true;
  const PlanRequest request = RequestOf({{"a", 1, 2, TestDevice()}});
  EXPECT_EQ(CreateAmpPlanner({})->Start(request, observer).status().code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace tangram
