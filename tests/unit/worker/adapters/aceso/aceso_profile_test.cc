#include "worker/adapters/aceso/aceso_profile.h"

#include "common/cost/stage_cost.h"
#include "gmock/gmock.h"
#include "tests/unit/worker/adapters/aceso/aceso_query.h"

namespace tangram::aceso {
namespace {

ProfileOptions ProfileOptionsOf(const ParallelizeOptions& options) {
  return {.training = options.training,
          .pipeline_microbatch_size = options.pipeline_microbatch_size};
}

TEST(LowerBoundsTest, IsTheCostOfAStageWhereThereIsNoChoice) {
  Query query(BodySlice(3), testing::TestIsland(1, 1), Options(4));
  const DegreeTable& table = query.tables.At(0);
  const StageCost cost = EstimateStage(
      query.slice.runs,
      {.begin = {0, 0},
       .end = {3, 0},
       .recompute = {{3, query.tables.At(0).levels.back().masks[0]}}},
      query.tables.EnvironmentOf(table));

  const PerformanceProfile profile =
      LowerBounds(query.slice, query.island, ProfileOptionsOf(query.options));

  EXPECT_NEAR(profile.min_gpu_seconds,
              cost.forward_s + cost.backward_s - cost.recompute_s, 1e-9);
  EXPECT_NEAR(profile.min_total_bytes,
              cost.memory.PeakBytes(1) - cost.memory.transient_bytes,
              1e-6 * profile.min_total_bytes);
}

// No plan of any stages, cuts and degrees is below the sum of its atoms.
TEST(LowerBoundsTest, HoldForAllConfigurationsAtomByAtom) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Query query = RandomQuery(seed, /*max_layers=*/3, /*max_gpus=*/4);
    const ProfileOptions options = ProfileOptionsOf(query.options);
    PerformanceProfile sum;
    for (const LayerSpec& layer : LayersOf(query.slice)) {
      const PerformanceProfile atom =
          LowerBounds(MakeSlice({0, 1}, {&layer, 1}), query.island, options);
      sum.min_gpu_seconds += atom.min_gpu_seconds;
      sum.min_latency_s += atom.min_latency_s;
      sum.min_total_bytes += atom.min_total_bytes;
    }
    const PerformanceProfile whole =
        LowerBounds(query.slice, query.island, options);
    EXPECT_LE(sum.min_gpu_seconds, whole.min_gpu_seconds * (1 + 1e-9));
    EXPECT_LE(sum.min_total_bytes, whole.min_total_bytes * (1 + 1e-9));

    const double reserved = query.island.device.efficiency.reserved_bytes;
    const int end = query.layout.num_ops();
    const int num_choices = static_cast<int>(query.space.choices().size());
    for (int cut = 1; cut < end; ++cut) {
      for (int degrees = 0; degrees < num_choices; ++degrees) {
        const Configuration configuration =
            query.Configure({cut, end}, {degrees, num_choices - 1 - degrees});
        double gpu_seconds = 0;
        double latency_s = 0;
        double bytes = 0;
        for (const ConfiguredStage& stage : configuration.stages) {
          const int gpus = query.space.num_gpus(stage.shape.degrees);
          gpu_seconds += gpus * stage.time_s();
          latency_s += stage.time_s();
          bytes += gpus * (stage.figures.peak_bytes - reserved);
        }
        ASSERT_LE(sum.min_gpu_seconds, gpu_seconds);
        ASSERT_LE(sum.min_latency_s, latency_s);
        ASSERT_LE(sum.min_total_bytes, bytes);
      }
    }
  }
}

}  // namespace
}  // namespace tangram::aceso
