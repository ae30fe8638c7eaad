#include "worker/adapters/search/equal_stages_evaluator.h"

#include <algorithm>
#include <random>
#include <vector>

#include "common/cost/collectives.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestMoeModel;
using ::tangram::testing::TestTraining;
using ::testing::ElementsAre;

ModelSlice Slice() { return MakeSlice({0, 10}, TestModel(8).layers); }

ParallelizeOptions Options(int trailing_stages = 0) {
  return {.training = TestTraining(32),
          .pipeline_microbatch_size = 4,
          .trailing_stages = trailing_stages};
}

EqualStagesChoice Choice(int num_stages, StageParallelism parallelism) {
  return {.layout = {.num_stages = num_stages,
                     .gpus_per_stage = parallelism.num_gpus()},
          .parallelism = parallelism,
          .recompute = LayerRecompute::kWholeLayer};
}

// 4 stages of 2 GPUs on 2 nodes of 4.
EqualStagesChoice FourStages() { return Choice(4, {.dp_degree = 2}); }

StageCost EstimateOf(const ModelSlice& slice, const IslandSpec& island,
                     const SliceStage& stage) {
  const ParallelizeOptions options = Options();
  const StageEnvironment environment = {
      .device = island.device,
      .training = options.training,
      .wiring = WiringOf(island, stage.plan.parallelism.num_gpus()),
      .pipeline_microbatch_size = options.pipeline_microbatch_size};
  return EstimateStage(slice.runs, stage.plan, environment);
}

TEST(EqualStagesEvaluatorTest, StagesCostWhatTheCostModelSays) {
  const ModelSlice slice = Slice();
  const IslandSpec island = TestIsland(2, 4);
  const ParallelizeOptions options = Options();
  EqualStagesEvaluator evaluator(slice, island, options);

  const SlicePlan plan = evaluator.PlanOf(FourStages(), "test");

  ASSERT_EQ(plan.num_stages(), 4);
  for (int i = 0; i < 4; ++i) {
    const StageCost cost = EstimateOf(slice, island, plan.stages[i]);
    EXPECT_NEAR(plan.stages[i].backward_s, cost.backward_s,
                1e-12 * cost.backward_s);
    EXPECT_NEAR(plan.stages[i].sync_s, cost.sync_s + cost.optimizer_s, 1e-12);
  }
}

TEST(EqualStagesEvaluatorTest, StagesButTheLastPayForTransfersBothWays) {
  const ModelSlice slice = Slice();
  const IslandSpec island = TestIsland(2, 4);
  const ParallelizeOptions options = Options();
  EqualStagesEvaluator evaluator(slice, island, options);
  // 4 samples · 512 tokens · 1,024 · 2 bytes, in both directions: 8,388,608
  // bytes. Stages 0 and 1 share a node, where two GPU pairs carry them at 100
  // GB/s each. One pair of nodes joins 1 and 2 at 10 GB/s.
  const double bytes = 2.0 * 4 * 512 * 1024 * 2;
  const double transfers[] = {bytes / 200e9, bytes / 10e9, bytes / 200e9, 0};

  const SlicePlan plan = evaluator.PlanOf(FourStages(), "test");

  for (int i = 0; i < 4; ++i) {
    const StageCost cost = EstimateOf(slice, island, plan.stages[i]);
    EXPECT_NEAR(plan.stages[i].time_s - cost.forward_s - cost.backward_s,
                transfers[i], 1e-12);
  }
}

// An evaluator keeps transfers. Layers of unlike width send unlike bytes, and
// stages of other sizes use other links.
TEST(EqualStagesEvaluatorTest, OneEvaluatorSaysWhatNewOnesDo) {
  std::vector<LayerSpec> layers = TestModel(8).layers;
  for (int i = 5; i < 9; ++i) layers[i].hidden_size *= 2;
  const ModelSlice slice = MakeSlice({0, 10}, layers);
  const IslandSpec island = TestIsland(3, 4);
  const ParallelizeOptions options = Options();
  EqualStagesEvaluator kept(slice, island, options);
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const int gpus = 1 << random() % 3;
    const auto stages = static_cast<int>(1 + random() % (12 / gpus));
    const bool tensors = random() % 2 == 0;
    const EqualStagesChoice choice = Choice(
        std::min(stages, 10),
        {.tp_degree = tensors ? gpus : 1, .dp_degree = tensors ? 1 : gpus});

    const SlicePlan plan = kept.PlanOf(choice, "test");

    EqualStagesEvaluator fresh(slice, island, options);
    EXPECT_TRUE(plan == fresh.PlanOf(choice, "test")) << "choice " << i;
  }
}

TEST(EqualStagesEvaluatorTest, OnlyTransformerLayersAreRecomputed) {
  const ModelSlice slice = Slice();
  const IslandSpec island = TestIsland(1, 2);
  const ParallelizeOptions options = Options();
  EqualStagesEvaluator evaluator(slice, island, options);

  const SlicePlan plan = evaluator.PlanOf(Choice(1, {.tp_degree = 2}), "test");

  EXPECT_THAT(plan.stages[0].plan.recompute,
              ElementsAre(RecomputeRun{.num_layers = 1},
                          RecomputeRun{.num_layers = 8, .mask = 0x3ff},
                          RecomputeRun{.num_layers = 1}));
}

// With one stage more than max_trailing_stages behind, some stage is full.
TEST(EqualStagesEvaluatorTest, TrailingStagesAreWhatMemoryAllows) {
  const ModelSlice slice = Slice();
  IslandSpec island = TestIsland(2, 4);
  ParallelizeOptions options = Options();
  const EqualStagesChoice choice = FourStages();
  const SlicePlan roomy =
      EqualStagesEvaluator(slice, island, options).PlanOf(choice, "test");
  EXPECT_EQ(roomy.max_trailing_stages, kUnlimitedTrailingStages);

  // Stage 0 has room for 6.5 microbatches: 4 of its own and 2 trailing.
  const StageMemory first = EstimateOf(slice, island, roomy.stages[0]).memory;
  island.device.memory_bytes =
      first.static_bytes + first.transient_bytes + 6.5 * first.activation_bytes;
  EqualStagesEvaluator tight(slice, island, options);
  const PlanMerits merits = tight.Evaluate(choice);

  int borne = 100;
  for (int i = 0; i < 4; ++i) {
    const StageMemory memory =
        EstimateOf(slice, island, roomy.stages[i]).memory;
    int trailing = -1;
    while (trailing < 10 &&
           memory.PeakBytes(InFlightMicrobatches(3 - i + trailing + 1, 8)) <=
               island.device.memory_bytes) {
      ++trailing;
    }
    borne = std::min(borne, trailing);
  }
  EXPECT_EQ(merits.max_trailing_stages, borne);
  EXPECT_EQ(tight.BytesShort(borne), 0);
  EXPECT_GT(tight.BytesShort(borne + 1), 0);
}

TEST(EqualStagesEvaluatorTest, BytesShortAreThoseOfTheFullestStage) {
  const ModelSlice slice = Slice();
  IslandSpec island = TestIsland(1, 1);
  const ParallelizeOptions options = Options(/*trailing_stages=*/3);
  const EqualStagesChoice choice = Choice(1, {});
  const SlicePlan plan =
      EqualStagesEvaluator(slice, island, options).PlanOf(choice, "test");
  const StageMemory memory = EstimateOf(slice, island, plan.stages[0]).memory;
  island.device.memory_bytes = 1e9;

  EqualStagesEvaluator tight(slice, island, options);
  const PlanMerits merits = tight.Evaluate(choice);

  // Three stages behind: four microbatches in flight.
  EXPECT_NEAR(tight.BytesShort(3), memory.PeakBytes(4) - 1e9, 1);
  EXPECT_LT(merits.max_trailing_stages, 3);
}

}  // namespace
}  // namespace tangram
