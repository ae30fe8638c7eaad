#include "coordinator/planners/polish/whole_plans.h"

#include <algorithm>
#include <set>
#include <vector>

#include "common/base/infinity.h"
#include "common/sim/evaluate_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

constexpr int kWholeLayers = 8;

// An island of two nodes of two GPUs, and one of a GPU three times as fast.
struct WholeProblem {
  PlanRequest request;
  std::vector<Island> islands;
};

WholeProblem FastBesideNodes() {
  std::vector<testing::TestGroup> groups = {
      {.name = "a", .num_nodes = 2, .gpus_per_node = 2},
      {.name = "b", .num_nodes = 1, .gpus_per_node = 1}};
  for (testing::TestGroup& group : groups) {
    group.device = testing::TestDevice(group.name);
  }
  groups[1].device.peak_flops.fp16 *= 3;
  WholeProblem problem;
  problem.request = {.cluster = testing::TestCluster(groups, 100e9),
                     .model = testing::TestModel(kWholeLayers - 2),
                     .training = testing::TestTraining(8)};
  for (int i = 0; i < 2; ++i) {
    Island island{.id = i};
    island.nodes = i == 0 ? std::vector<int>{0, 1} : std::vector<int>{2};
    island.spec.num_nodes = i == 0 ? 2 : 1;
    island.spec.gpus_per_node = i == 0 ? 2 : 1;
    island.spec.device.type = groups[i].name;
    problem.islands.push_back(island);
  }
  return problem;
}

std::vector<PipelinePlan> PlansFor(const WholeProblem& problem,
                                   double limit_s = kInfinity) {
  testing::SilentObserver observer;
  auto plans =
      WholePlans(problem.request, {}, problem.islands, limit_s, observer);
  EXPECT_THAT(plans, testing::IsOk());
  return *std::move(plans);
}

double PlayedSeconds(const WholeProblem& problem, const PipelinePlan& plan) {
  const PlanRequest& request = problem.request;
  const auto played =
      EvaluatePlan(request.model, request.cluster, request.training, plan);
  EXPECT_THAT(played, testing::IsOk());
  EXPECT_THAT(played->violations, ::testing::IsEmpty());
  return played->iteration_time_s;
}

TEST(WholePlansTest, PlansAreValidAndOfManyKinds) {
  const WholeProblem problem = FastBesideNodes();
  std::set<int> sizes;
  std::set<int> stages;
  bool comes_back = false;
  for (const PipelinePlan& plan : PlansFor(problem)) {
    PlayedSeconds(problem, plan);
    sizes.insert(plan.pipeline_microbatch_size);
    stages.insert(plan.num_stages());
    comes_back |= plan.num_stages() == 3 && plan.stages[0].island == 0 &&
                  plan.stages[1].island == 1 && plan.stages[2].island == 0;
  }
  EXPECT_GE(sizes.size(), 3u);
  EXPECT_GE(stages.size(), 3u);
  EXPECT_TRUE(comes_back);  // An island at two places.
}

// With one GPU of each island, the best cut and order of all.
TEST(WholePlansTest, TheBestOfTwoGpusIsAmongThem) {
  WholeProblem problem = FastBesideNodes();
  problem.request.pipeline_microbatch_size = 1;
  problem.request.constraints.exclude_islands = {};
  problem.islands[0].nodes = {0};
  problem.request.constraints.dp_degrees = {{"", 1}};
  problem.request.constraints.tp_degrees = {{"", 1}};
  problem.request.constraints.cp_degrees = {{"", 1}};
  problem.request.constraints.max_stages = {{"", 2}};
  double best_s = kInfinity;
  for (const bool fast_first : {false, true}) {
    for (int cut = 1; cut < kWholeLayers; ++cut) {
      PipelinePlan plan{.pipeline_microbatch_size = 1};
      for (int s = 0; s < 2; ++s) {
        const int begin = s == 0 ? 0 : cut;
        const int end = s == 0 ? cut : kWholeLayers;
        plan.stages.push_back(
            {.plan = {.begin = {begin, 0},
                      .end = {end, 0},
                      .recompute = {{end - begin, 0}}},
             .gpus = {{.node = (s == 0) == fast_first ? 2 : 0}}});
      }
      best_s = std::min(best_s, PlayedSeconds(problem, plan));
    }
  }
  double found_s = kInfinity;
  for (const PipelinePlan& plan : PlansFor(problem)) {
    found_s = std::min(found_s, PlayedSeconds(problem, plan));
  }
  EXPECT_LE(found_s, best_s * 1.001);
}

TEST(WholePlansTest, ConstraintsHold) {
  WholeProblem problem = FastBesideNodes();
  problem.request.pipeline_microbatch_size = 4;
  problem.request.constraints.tp_degrees = {{"a", 2}};
  problem.request.constraints.max_stages = {{"", 2}};
  problem.request.constraints.pins = {{0, 0, "a"}};
  const std::vector<PipelinePlan> plans = PlansFor(problem);
  EXPECT_THAT(plans, ::testing::Not(::testing::IsEmpty()));
  for (const PipelinePlan& plan : plans) {
    EXPECT_EQ(plan.pipeline_microbatch_size, 4);
    EXPECT_LE(plan.num_stages(), 2);
    EXPECT_EQ(plan.stages.front().island, 0);
    for (const PlacedStage& stage : plan.stages) {
      EXPECT_EQ(stage.plan.parallelism.tp_degree, stage.island == 0 ? 2 : 1);
    }
  }
}

TEST(WholePlansTest, SlowPlansAreLeftOut) {
  const WholeProblem problem = FastBesideNodes();
  const double best_s = PlayedSeconds(problem, PlansFor(problem).front());
  EXPECT_LT(PlansFor(problem, best_s).size(), PlansFor(problem).size());
  EXPECT_THAT(PlansFor(problem, best_s / 10), ::testing::IsEmpty());
}

}  // namespace
}  // namespace tangram
