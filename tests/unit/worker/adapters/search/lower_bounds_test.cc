#include "worker/adapters/search/lower_bounds.h"

#include "common/cost/stage_cost.h"
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
      EstimateLayer(layer, 0, 10, kRecomputeNone, {}, environment);

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

}  // namespace
}  // namespace tangram
