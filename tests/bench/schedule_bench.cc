// Playing the passes of one iteration, under every schedule.

#include <vector>

#include "benchmark/benchmark.h"
#include "common/sim/held_microbatches.h"
#include "common/sim/play_pipeline.h"

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
