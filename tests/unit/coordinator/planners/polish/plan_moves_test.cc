#include "coordinator/planners/polish/plan_moves.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

constexpr OpMask kMask = 5;

PipelinePlan TwoStages(std::vector<RecomputeRun> first,
                       std::vector<RecomputeRun> second) {
  return {.pipeline_microbatch_size = 1,
          .stages = {{.plan = {{0, 0}, {3, 0}, {}, std::move(first)}},
                     {.plan = {{3, 0}, {6, 0}, {}, std::move(second)}}}};
}

TEST(PlanMovesTest, CutsAreAsFineAsAllowed) {
  const ModelSpec model = testing::TestModel(2);
  const std::vector<OperatorCut> layers = CutsOf(model, Runtime::Cuts::kLayers);
  EXPECT_THAT(layers, ElementsAre(OperatorCut{0, 0}, OperatorCut{1, 0},
                                  OperatorCut{2, 0}, OperatorCut{3, 0}));
  const auto residuals = CutsOf(model, Runtime::Cuts::kResiduals);
  const auto operators = CutsOf(model, Runtime::Cuts::kOperators);
  EXPECT_THAT(residuals, IsSupersetOf(layers));
  EXPECT_THAT(operators, IsSupersetOf(residuals));
  EXPECT_LT(layers.size(), residuals.size());
  EXPECT_LT(residuals.size(), operators.size());
  size_t num_ops = 0;
  for (const LayerSpec& layer : model.layers) {
    num_ops += OperatorsOf(layer).size();
  }
  EXPECT_EQ(operators.size(), num_ops);
}

TEST(PlanMovesTest, ALayerThatAStageGainsIsRecomputedLikeTheEqualOneBeside) {
  const ModelSpec model = testing::TestModel(4);
  PipelinePlan plan = TwoStages({{1, 0}, {2, kMask}}, {{2, 0}, {1, 0}});
  Recut(model, {OperatorCut{4, 2}}, plan);
  EXPECT_EQ(plan.stages[0].plan.end, (OperatorCut{4, 2}));
  EXPECT_EQ(plan.stages[1].plan.begin, (OperatorCut{4, 2}));
  EXPECT_THAT(plan.stages[0].plan.recompute,
              ElementsAre(RecomputeRun{1, 0}, RecomputeRun{4, kMask}));
  EXPECT_THAT(plan.stages[1].plan.recompute, ElementsAre(RecomputeRun{2, 0}));
}

TEST(PlanMovesTest, AnUnlikeLayerIsNotRecomputed) {
  const ModelSpec model = testing::TestModel(4);
  PipelinePlan plan = TwoStages({{1, 0}, {2, kMask}}, {{2, kMask}, {1, 0}});
  Recut(model, {OperatorCut{1, 0}}, plan);
  EXPECT_THAT(plan.stages[1].plan.recompute,
              ElementsAre(RecomputeRun{4, kMask}, RecomputeRun{1, 0}));
  Recut(model, {OperatorCut{5, 0}}, plan);  // The head alone, then the reverse.
  EXPECT_THAT(plan.stages[1].plan.recompute, ElementsAre(RecomputeRun{1, 0}));
  Recut(model, {OperatorCut{3, 0}}, plan);
  EXPECT_THAT(plan.stages[1].plan.recompute, ElementsAre(RecomputeRun{3, 0}));
}

TEST(PlanMovesTest, MoreRecomputationBeginsAtTheFirstLayer) {
  const ModelSpec model = testing::TestModel(4);
  PipelinePlan plan = TwoStages({{3, 0}}, {{3, 0}});
  ASSERT_TRUE(ChangeMask(model, 0, 0, kMask, plan));
  EXPECT_THAT(plan.stages[0].plan.recompute,
              ElementsAre(RecomputeRun{1, 0}, RecomputeRun{1, kMask},
                          RecomputeRun{1, 0}));  // The embedding stays.
  ASSERT_TRUE(ChangeMask(model, 0, 0, kMask, plan));
  EXPECT_FALSE(ChangeMask(model, 0, 0, kMask, plan));
  ASSERT_TRUE(ChangeMask(model, 0, kMask, 0, plan));
  EXPECT_THAT(plan.stages[0].plan.recompute,
              ElementsAre(RecomputeRun{1, 0}, RecomputeRun{1, kMask},
                          RecomputeRun{1, 0}));
}

TEST(PlanMovesTest, MasksAreThoseOfEveryFrameworkAndOfThePlan) {
  const ModelSpec model = testing::TestModel(4);
  const std::vector<OpMask> masks =
      MasksOf(model, TwoStages({{3, 0}}, {{3, kMask}}));
  const OpMask whole = (OpMask{1} << OperatorsOf(model.layers[1]).size()) - 1;
  EXPECT_EQ(masks.front(), whole);
  EXPECT_EQ(masks.back(), kRecomputeNone);
  EXPECT_THAT(masks, ::testing::Contains(kMask));
  EXPECT_EQ(masks.size(), 4);
}

}  // namespace
}  // namespace tangram
