// No pipeline of slice plans is faster, as it is played, than the bound for all
// that its parallelizer could make. Checked on what the planner proposes for
// random clusters and models.
//
// TANGRAM_ASKED_CASES sets the number of cases; each takes 50 ms.

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/base/infinity.h"
#include "common/planner/planner.h"
#include "common/sim/evaluate_plan.h"
#include "coordinator/dispatch/local_slice_plan_source.h"
#include "coordinator/planners/tangram/tangram_planner.h"
#include "formats/config/device_catalogue.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/number_from_environment.h"
#include "tests/testing/planning/planning.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram {
namespace {

using testing::SilentObserver;

constexpr int kUsualAskedCases = 40;

int NumAskedCases() {
  return testing::NumberFromEnvironment("TANGRAM_ASKED_CASES",
                                        kUsualAskedCases);
}

PlanRequest DrawRequest(std::mt19937& rng) {
  const std::vector<std::string> types = {"T4", "V100-16", "A100-40", "L4"};
  std::vector<testing::TestGroup> groups;
  const int num_groups = 1 + static_cast<int>(rng() % 3);
  for (int g = 0; g < num_groups; ++g) {
    groups.push_back(
        {.name = "g" + std::to_string(g),
         .num_nodes = 1 + static_cast<int>(rng() % 3),
         .gpus_per_node = 1 << (rng() % 3),
         .device = FindDevice(types[rng() % types.size()])->device});
  }
  // Over fast links, transfers hardly make the pipelines longer.
  return {.cluster = testing::TestCluster(groups, rng() % 2 == 0 ? 1e13 : 2e9),
          .model = testing::TestModel(1 + static_cast<int>(rng() % 6),
                                      512 << (rng() % 3)),
          .training = testing::TestTraining(1 << (rng() % 6))};
}

TEST(AskedBoundTest, NoProposedPipelineIsPlayedFaster) {
  const std::vector<std::string> adapters = {"aceso",     "alpa", "galvatron",
                                             "hypertron", "mist", "uniform"};
  double closest = 0;
  int num_plans = 0;
  int num_proven = 0;
  for (int seed = 0; seed < NumAskedCases(); ++seed) {
    std::mt19937 rng(seed);
    const PlanRequest request = DrawRequest(rng);
    const std::string& adapter = adapters[seed % adapters.size()];
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ", " << adapter);
    const auto parallelizer = CreateBuiltinParallelizer(adapter);
    const auto source =
        CreateLocalSlicePlanSource(**parallelizer, /*num_threads=*/1);
    SilentObserver observer;
    const auto planner = CreateTangramPlanner(
        *source, {.max_search_steps = 64, .finalist_slack = 0.3}, {});
    ASSERT_OK_AND_ASSIGN(const auto search, planner->Start(request, observer));
    ASSERT_OK_AND_ASSIGN(const std::vector<Proposal> proposals,
                         search->Propose({}));
    double least_s = kInfinity;
    for (const Proposal& proposal : proposals) {
      ASSERT_OK_AND_ASSIGN(
          const Evaluation evaluation,
          EvaluatePlan(request.model, request.cluster, request.training,
                       proposal.make_plan()));
      least_s = std::min(least_s, evaluation.iteration_time_s);
      ++num_plans;
    }
    ASSERT_OK_AND_ASSIGN(const PlanFindings findings, search->Conclude({}));
    // Nodes of one type in two groups are an island with unlike links.
    num_proven += findings.asked_s > 0 ? 1 : 0;
    EXPECT_LE(findings.asked_s, least_s);
    closest = std::max(closest, findings.asked_s / least_s);
  }
  std::printf("%d pipelines, the fastest %.4f of its bound\n", num_plans,
              1 / closest);
  EXPECT_GT(num_plans, NumAskedCases());
  EXPECT_GT(num_proven, 0.8 * NumAskedCases());
  EXPECT_GT(closest, 0.8);
}

}  // namespace
}  // namespace tangram
