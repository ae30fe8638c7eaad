// Times the prediction of one plan, by the closed form and by playing the
// passes of one iteration under every schedule.

#include <vector>

#include "benchmark/benchmark.h"
#include "common/cost/stage_cost.h"
#include "common/sim/held_microbatches.h"
#include "common/sim/play_pipeline.h"
#include "formats/catalogue/models.h"
#include "formats/config/device_catalogue.h"
#include "tests/testing/builders.h"
#include "tests/testing/one_f_one_b.h"

namespace tangram {
namespace {

// 64 uneven stages, 512 microbatches.
PipelineShape ShapeOf(int64_t schedule) {
  PipelineShape shape = {.schedule = static_cast<PipelineSchedule>(schedule),
                         .num_devices = 64,
                         .num_microbatches = 512};
  if (shape.schedule == PipelineSchedule::kInterleaved) {
    shape.num_devices = 16;
    shape.virtual_stages = 4;
  }
  return shape;
}

std::vector<StageTimes> StagesOf(const PipelineShape& shape) {
  std::vector<StageTimes> stages;
  for (int s = 0; s < shape.num_stages(); ++s) {
    const double forward_s = 1 + 0.01 * (s % 7);
    stages.push_back({.forward_s = forward_s,
                      .backward_s = 2 * forward_s,
                      .weight_gradient_s = forward_s,
                      .send_forward_s = 0.1,
                      .send_backward_s = 0.1,
                      .sync_s = 1});
  }
  return stages;
}

// Times GPT-3 6.7B in eight stages of four A100, from its layers to the time of
// an iteration, as a search estimates it.
void BM_ClosedForm(benchmark::State& state) {
  const ModelSpec model = *BuiltinModel("gpt3-6.7b");
  const std::vector<LayerRun> runs = testing::WholeSlice(model).runs;
  const CatalogueDevice& a100 = *FindDevice("A100-80");
  const TrainingOptions training = {.global_batch_size = 128,
                                    .sequence_length = 2048};
  const StageParallelism parallelism = {.tp_degree = 4};
  const StageEnvironment environment = {
      .device = a100.device,
      .training = training,
      .wiring = {.gpus_per_node = 4,
                 .intra_node = a100.intra_node,
                 .inter_node = a100.inter_node},
      .pipeline_microbatch_size = 1};
  for (auto _ : state) {
    std::vector<StageTimes> stages;
    for (int s = 0; s < 8; ++s) {
      const int begin = s == 0 ? 0 : 1 + 4 * s;
      const int end = s == 7 ? model.num_layers() : 5 + 4 * s;
      const StageCost cost = EstimateStage(runs,
                                           {.begin = {begin, 0},
                                            .end = {end, 0},
                                            .parallelism = parallelism,
                                            .recompute = {{end - begin, 0}}},
                                           environment);
      stages.push_back({.forward_s = cost.forward_s,
                        .backward_s = cost.backward_s,
                        .sync_s = cost.sync_s,
                        .optimizer_s = cost.optimizer_s});
    }
    benchmark::DoNotOptimize(testing::ClosedFormIterationSeconds(stages, 128));
  }
}
BENCHMARK(BM_ClosedForm)->Unit(benchmark::kMicrosecond);

void BM_Play(benchmark::State& state) {
  const PipelineShape shape = ShapeOf(state.range(0));
  const std::vector<StageTimes> stages = StagesOf(shape);
  state.SetLabel(ScheduleName(shape.schedule));
  for (auto _ : state) {
    benchmark::DoNotOptimize(PlayPipeline(shape, stages));
  }
}
BENCHMARK(BM_Play)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

void BM_PlayTimeline(benchmark::State& state) {
  const PipelineShape shape = ShapeOf(state.range(0));
  const std::vector<StageTimes> stages = StagesOf(shape);
  state.SetLabel(ScheduleName(shape.schedule));
  for (auto _ : state) {
    std::vector<TimelineEvent> timeline;
    benchmark::DoNotOptimize(PlayPipeline(shape, stages, &timeline));
  }
}
BENCHMARK(BM_PlayTimeline)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

void BM_HeldAtPeak(benchmark::State& state) {
  const PipelineShape shape = ShapeOf(state.range(0));
  const std::vector<double> activation_bytes(shape.num_stages(), 1.0);
  state.SetLabel(ScheduleName(shape.schedule));
  for (auto _ : state) {
    benchmark::DoNotOptimize(MicrobatchesHeldAtPeak(shape, activation_bytes));
  }
}
BENCHMARK(BM_HeldAtPeak)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tangram
