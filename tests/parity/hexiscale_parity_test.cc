// HexiScale against ten runs of its released scheduler.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/planners/rivals/hexiscale/hexiscale_costs.h"
#include "coordinator/planners/rivals/hexiscale/hexiscale_layout.h"
#include "coordinator/planners/rivals/hexiscale/hexiscale_search.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/parity/hexiscale_runs.h"

namespace tangram {
namespace {

using testing::ReadReleasedRun;
using testing::ReleasedRun;

// Seconds are printed with three decimals.
constexpr double kRounding = 6e-4;

class ReleasedRunsTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::optional<ReleasedRun> run = ReadReleasedRun(GetParam());
    if (!run) GTEST_SKIP() << testing::kNoReferenceData;
    run_ = *std::move(run);
  }

  ReleasedRun run_;
};

TEST_P(ReleasedRunsTest, ItsPlanTakesAsLongAsItPredicted) {
  EXPECT_NEAR(PlanSeconds(run_.input, run_.plan), run_.iteration_s, kRounding);
}

TEST_P(ReleasedRunsTest, ItsStagesHaveTheMemoryThatItPredicted) {
  for (size_t r = 0; r < run_.plan.pipelines.size(); ++r) {
    const HexiscalePipeline& pipeline = run_.plan.pipelines[r];
    for (size_t s = 0; s < pipeline.stages.size(); ++s) {
      EXPECT_NEAR(StageBytes(run_.input, pipeline, static_cast<int>(s),
                             run_.plan.microbatch_size),
                  run_.stage_bytes[r][s], 1);
    }
  }
}

// Stages with equal memory are ranked by a sort that is not stable, so layers
// may be another's of them.
TEST_P(ReleasedRunsTest, LayersAreShared) {
  for (const HexiscalePipeline& pipeline : run_.plan.pipelines) {
    std::vector<double> memory;
    std::map<double, std::multiset<int>> expected;
    for (const HexiscaleStage& stage : pipeline.stages) {
      memory.push_back(stage.tp_degree() *
                       run_.input.machines[stage.machine].memory_bytes);
      expected[memory.back()].insert(stage.num_layers);
    }
    const std::vector<int> layers =
        ShareLayers(run_.input.model.num_layers, memory);
    std::map<double, std::multiset<int>> found;
    for (size_t s = 0; s < memory.size(); ++s) {
      found[memory[s]].insert(layers[s]);
    }
    EXPECT_EQ(found, expected);
  }
}

// By the same formulas, with as many samples.
TEST_P(ReleasedRunsTest, TheBestPlanIsPredictedToBeAsFast) {
  HexiscaleInput input = run_.input;
  input.defects.slow_order = false;
  input.defects.stages_alone = false;
  input.defects.random_walk = false;
  const HexiscalePlans found =
      SearchHexiscale({&input, 1}, [] { return false; });
  ASSERT_FALSE(found.plans.empty());
  const HexiscalePlan& best = found.plans.front();
  EXPECT_LE(best.iteration_s, run_.iteration_s + kRounding);
  EXPECT_EQ(best.iteration_s, PlanSeconds(input, best));
}

INSTANTIATE_TEST_SUITE_P(Runs, ReleasedRunsTest,
                         ::testing::Values("sample", "av16_7b", "av64_7b",
                                           "av128_7b", "paperA_7b",
                                           "paperA5_7b", "paperB_7b",
                                           "paperB5_7b", "paperC_30b",
                                           "paperC5_30b"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tangram
