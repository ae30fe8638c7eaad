#include "common/sim/memory_holding.h"

#include "common/domain/recompute_masks.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

// Device 1 of 3, with 4 of 16 microbatches: the last two wait for their weight
// gradients, if these have passes of their own.
TEST(HeldOfTest, CountsThoseThatWaitForWeightGradients) {
  PipelineShape shape{.num_devices = 3, .num_microbatches = 16};
  EXPECT_EQ(HeldOf(shape, 1, 4).before_weight_gradients, 0);
  shape.schedule = PipelineSchedule::kZeroBubbleH1;
  EXPECT_EQ(HeldOf(shape, 1, 4).all, 4);
  EXPECT_EQ(HeldOf(shape, 1, 4).before_weight_gradients, 2);
  EXPECT_EQ(HeldOf(shape, 2, 2).before_weight_gradients, 2);
}

TEST(MemoryHoldingTest, CountsWhatWasRecomputedUntilTheWeightGradients) {
  const ModelSpec model = testing::TestModel(4);
  const Cluster cluster =
      testing::TestCluster({{.name = "a", .gpus_per_node = 1}});
  const TrainingOptions training = testing::TestTraining(16);
  StageEstimator estimator(model, cluster, training);
  PlacedStage stage{.plan = {.begin = {1, 0}, .end = {4, 0}}, .gpus = {{0, 0}}};
  stage.plan.recompute = {{3, kRecomputeNone}};
  const StageMemory all = estimator.CostOf(stage, 2).memory;
  stage.plan.recompute = {{3, WholeLayerMask(model.layers[1])}};
  const StageMemory kept = estimator.CostOf(stage, 2).memory;
  ASSERT_LT(kept.activation_bytes, all.activation_bytes);

  const StageMemory none = MemoryHolding(estimator, stage, 2, {.all = 5}, kept);
  EXPECT_DOUBLE_EQ(none.activation_bytes, 5 * kept.activation_bytes);
  EXPECT_EQ(none.transient_bytes, kept.transient_bytes);
  const StageMemory two = MemoryHolding(
      estimator, stage, 2, {.all = 5, .before_weight_gradients = 2}, kept);
  EXPECT_DOUBLE_EQ(two.activation_bytes,
                   3 * kept.activation_bytes + 2 * all.activation_bytes);
  EXPECT_EQ(two.transient_bytes, all.transient_bytes);
  EXPECT_EQ(two.static_bytes, kept.static_bytes);
}

}  // namespace
}  // namespace tangram
