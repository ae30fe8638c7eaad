#include "worker/adapters/search/layerwise_parallelizer.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

SliceStage StageOf(int begin, int end) {
  return {.plan = {.begin = {begin, 0},
                   .end = {end, 0},
                   .recompute = {{.num_layers = end - begin}}},
          .time_s = 1};
}

// A search that knows no limits. The plan of two stages bears fewer trailing
// stages.
SlicePlanSet OneAndTwoStages(const ModelSlice& /*slice*/,
                             const IslandSpec& /*island*/,
                             const ParallelizeOptions& /*options*/) {
  return {.plans = {{.stages = {StageOf(0, 6)}, .max_trailing_stages = 9},
                    {.stages = {StageOf(0, 3), StageOf(3, 6)},
                     .max_trailing_stages = 4}}};
}

SlicePlanSet Answer(const StageLimits& limits) {
  IslandSpec island = testing::TestIsland(1, 4);
  island.limits = limits;
  return *CreateLayerwiseParallelizer({.search = OneAndTwoStages})
              ->Parallelize(testing::WholeSlice(testing::TestModel(4)), island,
                            {.training = testing::TestTraining(32),
                             .pipeline_microbatch_size = 4,
                             .trailing_stages = 1});
}

TEST(LayerwiseParallelizerTest, DropsPlansOutsideTheLimits) {
  const SlicePlanSet answer = Answer({.max_stages = 1});
  ASSERT_EQ(answer.plans.size(), 1);
  EXPECT_EQ(answer.plans[0].num_stages(), 1);
}

// From 5 trailing stages on, the search may find another plan of one stage.
TEST(LayerwiseParallelizerTest, ADroppedPlanSaysWhereToAskAgain) {
  EXPECT_EQ(Answer({.max_stages = 1}).covers_trailing_stages, 4);
}

TEST(LayerwiseParallelizerTest, WithoutLimitsTheAnswerIsThatOfTheSearch) {
  const SlicePlanSet answer = Answer({});
  EXPECT_EQ(answer.plans.size(), 2);
  EXPECT_EQ(answer.covers_trailing_stages, 0);
}

}  // namespace
}  // namespace tangram
