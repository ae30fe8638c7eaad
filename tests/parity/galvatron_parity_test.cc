// Our kernel solves the problems that Galvatron solved, with Galvatron's
// published cost model. The plans are as good, and the optima of its dynamic
// program are the same.

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/parity/galvatron_search.h"
#include "tests/parity/reference_data.h"

namespace tangram::parity {
namespace {

// Upstream fits lines by iteration, which leaves an error in the tenth digit.
constexpr double kFitting = 1e-8;

class GalvatronParityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    runs_ = ReadGalvatronRuns();
    if (runs_.empty()) GTEST_SKIP() << testing::kNoReferenceData;
    profile_ = ReadGalvatronProfile();
  }

  // Returns the plan that upstream found.
  GalvatronPlan PlanOf(const GalvatronRun& run) const {
    std::map<std::string, LayerStrategy> by_name;
    for (const LayerStrategy& s : LayerStrategies(profile_, run, 0)) {
      by_name[NameOf(s)] = s;
    }
    GalvatronPlan plan = {.chunks = run.found_chunks,
                          .ends = by_name.at(run.ends_strategy)};
    for (const std::string& name : run.strategies) {
      plan.layers.push_back(by_name.at(name));
    }
    return plan;
  }

  std::vector<GalvatronRun> runs_;
  GalvatronProfile profile_;
};

TEST_F(GalvatronParityTest, ScoresItsPlansAsItDid) {
  for (const GalvatronRun& run : runs_) {
    SCOPED_TRACE(run.name);
    EXPECT_NEAR(ScoreOf(profile_, run, PlanOf(run)), run.time_s,
                kFitting * run.time_s);
  }
}

TEST_F(GalvatronParityTest, SearchesTheSameSpace) {
  for (const GalvatronRun& run : runs_) {
    SCOPED_TRACE(run.name);
    EXPECT_EQ(LayerStrategies(profile_, run, 0).size(),
              run.num_layer_strategies);
    EXPECT_EQ(SolveGalvatron(profile_, run).num_tasks, run.num_tasks);
  }
}

TEST_F(GalvatronParityTest, FindsPlansAsGood) {
  for (const GalvatronRun& run : runs_) {
    SCOPED_TRACE(run.name);
    const GalvatronAnswer answer = SolveGalvatron(profile_, run);

    EXPECT_LE(answer.time_s / run.time_s, 1 + kFitting);
    EXPECT_EQ(answer.time_s, ScoreOf(profile_, run, answer.plan));
  }
}

// The plans agree layer by layer.
TEST_F(GalvatronParityTest, FindsTheSamePlans) {
  for (const GalvatronRun& run : runs_) {
    SCOPED_TRACE(run.name);
    const GalvatronPlan plan = SolveGalvatron(profile_, run).plan;

    EXPECT_EQ(plan.chunks, run.found_chunks);
    EXPECT_EQ(NameOf(plan.ends), run.ends_strategy);
    std::vector<std::string> names;
    for (const LayerStrategy& layer : plan.layers) {
      names.push_back(NameOf(layer));
    }
    EXPECT_EQ(names, run.strategies);
  }
}

}  // namespace
}  // namespace tangram::parity
