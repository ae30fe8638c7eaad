#include "worker/adapters/uniform/uniform_profile.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "common/cost/stage_cost.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "worker/adapters/uniform/uniform_search.h"

namespace tangram {
namespace {

using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestMoeModel;
using ::tangram::testing::TestTraining;

ProfileOptions Options(int microbatch) {
  return {.training = TestTraining(32), .pipeline_microbatch_size = microbatch};
}

TEST(ProfileUniformTest, AddsUpOverAtoms) {
  const ModelSpec model = TestMoeModel(3);
  PerformanceProfile sum;
  for (const ModelSlice& atom : SliceByLayer(model)) {
    const PerformanceProfile profile =
        ProfileUniform(atom, TestIsland(2, 4), Options(4));
    sum.min_gpu_seconds += profile.min_gpu_seconds;
    sum.min_total_bytes += profile.min_total_bytes;
  }

  const PerformanceProfile whole = ProfileUniform(
      MakeSlice({0, 5}, model.layers), TestIsland(2, 4), Options(4));

  EXPECT_NEAR(whole.min_gpu_seconds, sum.min_gpu_seconds,
              1e-12 * sum.min_gpu_seconds);
  EXPECT_NEAR(whole.min_total_bytes, sum.min_total_bytes,
              1e-12 * sum.min_total_bytes);
}

TEST(ProfileUniformTest, OneGpuLeavesNoChoice) {
  const LayerSpec layer = TestModel(1).layers[1];
  const IslandSpec island = TestIsland(1, 1);
  const ProfileOptions options = Options(1);
  const StageEnvironment environment = {.device = island.device,
                                        .training = options.training,
                                        .wiring = WiringOf(island, 1)};
  const LayerCost cost =
      EstimateLayer(layer, 0, 10, kRecomputeNone, {}, environment);

  const PerformanceProfile profile =
      ProfileUniform(MakeSlice({0, 1}, {layer}), island, options);

  EXPECT_NEAR(profile.min_gpu_seconds, cost.forward_s + cost.backward_s,
              1e-8 * profile.min_gpu_seconds);
  // Whole layer recomputed: only its input, 512 · 1,024 · 2 bytes, is kept.
  const double state = ModelStateBytes(cost.parameters, {}, options.training);
  EXPECT_NEAR(profile.min_total_bytes, state + 512 * 1024 * 2,
              1e-8 * profile.min_total_bytes);
}

// Bytes of all GPUs with nothing behind the slice, without the reserve.
double TotalBytes(const SlicePlan& plan, const ModelSlice& slice,
                  const IslandSpec& island, const ProfileOptions& options) {
  double total = 0;
  for (int i = 0; i < plan.num_stages(); ++i) {
    const StagePlan& stage = plan.stages[i].plan;
    const int num_gpus = stage.parallelism.num_gpus();
    const StageEnvironment environment = {
        .device = island.device,
        .training = options.training,
        .wiring = WiringOf(island, num_gpus),
        .pipeline_microbatch_size = options.pipeline_microbatch_size};
    const int in_flight = InFlightMicrobatches(
        plan.num_stages() - 1 - i,
        options.training.global_batch_size / options.pipeline_microbatch_size);
    total += num_gpus * (EstimateStage(slice.runs, stage, environment)
                             .memory.PeakBytes(in_flight) -
                         island.device.efficiency.reserved_bytes);
  }
  return total;
}

TEST(ProfileUniformPropertyTest, HoldsForEveryPlan) {
  int plans = 0;
  for (int seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const int layers = 1 + static_cast<int>(random() % 6);
    const ModelSpec model =
        random() % 2 == 0 ? TestModel(layers) : TestMoeModel(layers);
    const ModelSlice slice = MakeSlice({0, model.num_layers()}, model.layers);
    IslandSpec island = TestIsland(1 << random() % 3, 1 << random() % 4);
    island.device.efficiency = {};  // Defaults: launches, reserve and the rest.
    island.device.memory_bytes = 1e9 * (2 << random() % 4);
    const int microbatch = 1 << random() % 4;

    const PerformanceProfile profile =
        ProfileUniform(slice, island, Options(microbatch));

    const SlicePlanSet answer = SearchUniform(
        slice, island,
        {.training = TestTraining(32), .pipeline_microbatch_size = microbatch});
    for (const SlicePlan& plan : answer.plans) {
      ++plans;
      double gpu_seconds = 0;
      for (const SliceStage& stage : plan.stages) {
        gpu_seconds += stage.plan.parallelism.num_gpus() * stage.time_s;
      }
      EXPECT_LE(profile.min_gpu_seconds, gpu_seconds);
      EXPECT_LE(profile.min_total_bytes,
                TotalBytes(plan, slice, island, Options(microbatch)));
    }
  }
  EXPECT_GT(plans, 200);
}

}  // namespace
}  // namespace tangram
