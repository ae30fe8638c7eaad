#include "worker/adapters/search/lower_bounds.h"

#include "common/cost/measured_layer.h"
#include "common/cost/stage_cost.h"
#include "common/domain/recompute_masks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestMoeModel;
using ::tangram::testing::TestTraining;

ProfileOptions Microbatches(int microbatch) {
  return {.training = TestTraining(32), .pipeline_microbatch_size = microbatch};
}

TEST(LayerwiseLowerBoundsTest, AddsUpOverAtoms) {
  const ModelSpec model = TestMoeModel(3);
  PerformanceProfile sum;
  for (const ModelSlice& atom : SliceByLayer(model)) {
    const PerformanceProfile profile = LayerwiseLowerBounds(
        atom, TestIsland(2, 4), Microbatches(4), {.ep = true});
    sum.min_gpu_seconds += profile.min_gpu_seconds;
    sum.min_total_bytes += profile.min_total_bytes;
  }

  const PerformanceProfile whole =
      LayerwiseLowerBounds(MakeSlice({0, 5}, model.layers), TestIsland(2, 4),
                           Microbatches(4), {.ep = true});

  EXPECT_NEAR(whole.min_gpu_seconds, sum.min_gpu_seconds,
              1e-12 * sum.min_gpu_seconds);
  EXPECT_NEAR(whole.min_total_bytes, sum.min_total_bytes,
              1e-12 * sum.min_total_bytes);
}

TEST(LayerwiseLowerBoundsTest, OneGpuLeavesNoChoice) {
  const LayerSpec layer = TestModel(1).layers[1];
  const IslandSpec island = TestIsland(1, 1);
  const ProfileOptions options = Microbatches(1);
  const StageEnvironment environment = {.device = island.device,
                                        .training = options.training,
                                        .wiring = WiringOf(island, 1)};
  const LayerCost cost =
      EstimateLayer(layer, {0, 10, kRecomputeNone}, {}, environment);

  const PerformanceProfile profile =
      LayerwiseLowerBounds(MakeSlice({0, 1}, {layer}), island, options, {});

  EXPECT_NEAR(profile.min_gpu_seconds, cost.forward_s + cost.backward_s,
              1e-8 * profile.min_gpu_seconds);
  // With the whole layer recomputed, only its input, 512 · 1,024 · 2 bytes, is
  // kept.
  const double state = ModelStateBytes(cost.parameters, {}, options.training);
  EXPECT_NEAR(profile.min_total_bytes, state + 512 * 1024 * 2,
              1e-8 * profile.min_total_bytes);
}

// A stage of one whole layer on one GPU, as the evaluator sees it.
double BytesOfOneStage(const LayerSpec& layer, const IslandSpec& island,
                       const ProfileOptions& options) {
  const LayerRun run = {.layer = layer, .count = 1};
  const StageMemory memory =
      EstimateStage(
          {&run, 1},
          {.end = {1, 0},
           .recompute = {{1, MaskOf(layer, LayerRecompute::kWholeLayer)}}},
          {.device = island.device,
           .training = options.training,
           .wiring = WiringOf(island, 1)})
          .memory;
  return memory.static_bytes - island.device.efficiency.reserved_bytes +
         memory.activation_bytes;
}

TEST(LayerwiseLowerBoundsTest, MeasuredStateBelowTheModelsLowersTheBound) {
  const LayerSpec layer = TestModel(1).layers[1];
  const ProfileOptions options = Microbatches(1);
  IslandSpec island = TestIsland(1, 1);
  const ModelSlice slice = MakeSlice({0, 1}, {layer});
  const double modelled =
      LayerwiseLowerBounds(slice, island, options, {}).min_total_bytes;

  for (const double share : {0.25, 1.0, 4.0}) {
    SCOPED_TRACE(::testing::Message() << "share " << share);
    const StageEnvironment environment = {.device = island.device,
                                          .training = options.training,
                                          .wiring = WiringOf(island, 1)};
    const LayerCost cost =
        EstimateLayer(layer, {0, 10, kRecomputeNone}, {}, environment);
    const double state = ModelStateBytes(cost.parameters, {}, options.training);
    IslandSpec measured = island;
    measured.device.measured_layers = {
        {.key = LayerMeasurementKey(layer, {}, options.training,
                                    options.training.flash_attention),
         .samples = 1,
         .forward_s = cost.forward_s,
         .backward_s = cost.backward_s,
         .state_bytes = share * state}};
    const double bound =
        LayerwiseLowerBounds(slice, measured, options, {}).min_total_bytes;
    EXPECT_LE(bound, BytesOfOneStage(layer, measured, options));
    EXPECT_LE(bound, modelled);
    if (share < 1) {
      EXPECT_LT(bound, modelled);
    }
  }
}

}  // namespace
}  // namespace tangram
