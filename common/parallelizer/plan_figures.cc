#include "common/parallelizer/plan_figures.h"

#include <algorithm>

#include "common/base/infinity.h"
#include "common/parallelizer/stage_transfer.h"
#include "common/parallelizer/trailing_stages.h"

namespace tangram {
namespace {

// Returns the layer `index` layers after the start of the slice.
const LayerSpec& LayerAt(const ModelSlice& slice, int index) {
  size_t run = 0;
  while (run + 1 < slice.runs.size() && index >= slice.runs[run].count) {
    index -= slice.runs[run++].count;
  }
  return slice.runs[run].layer;
}

// Returns whether two stages of whole layers have equal layers, all of one run,
// and run them alike, so that they cost the same.
bool AreAlike(const ModelSlice& slice, const StagePlan& a, const StagePlan& b) {
  if (a.begin.op != 0 || a.end.op != 0 || b.begin.op != 0 || b.end.op != 0 ||
      a.end.layer - a.begin.layer != b.end.layer - b.begin.layer ||
      a.parallelism != b.parallelism || a.recompute != b.recompute ||
      a.offload != b.offload) {
    return false;
  }
  const int first = std::min(a.begin.layer, b.begin.layer);
  const int last = std::max(a.end.layer, b.end.layer);
  int begin = 0;
  for (const LayerRun& run : slice.runs) {
    if (begin <= first && last <= begin + run.count) return true;
    begin += run.count;
  }
  return false;
}

}  // namespace

PlanEstimator::PlanEstimator(const ModelSlice& slice, const IslandSpec& island,
                             const ParallelizeOptions& options)
    : slice_(slice),
      island_(island),
      options_(options),
      num_microbatches_(options.training.global_batch_size /
                        options.pipeline_microbatch_size) {}

// A stage's time consists of its passes and the transfer to the next stage:
//
//   time_s = forward_s + backward_s + transfer_s,
//   sync_s = gradient reduction + optimizer step.
std::vector<StageFigures> PlanEstimator::FiguresOf(
    const SlicePlan& plan) const {
  std::vector<StageFigures> stages;
  stages.reserve(plan.stages.size());
  int first_gpu = 0;
  StageCost cost;
  for (int i = 0; i < plan.num_stages(); ++i) {
    const StagePlan& stage = plan.stages[i].plan;
    const int num_gpus = stage.parallelism.num_gpus();
    if (i == 0 || !AreAlike(slice_, plan.stages[i - 1].plan, stage)) {
      cost = EstimateStage(
          slice_.runs, stage,
          {.device = island_.device,
           .training = options_.training,
           .wiring = WiringOf(island_, num_gpus),
           .pipeline_microbatch_size = options_.pipeline_microbatch_size});
    }
    stages.push_back({.time_s = cost.forward_s + cost.backward_s +
                                TransferSecondsAfter(plan, i, first_gpu),
                      .backward_s = cost.backward_s,
                      .sync_s = cost.sync_s + cost.optimizer_s,
                      .memory = cost.memory});
    first_gpu += num_gpus;
  }
  return stages;
}

// Takes the minimum over all stages, of both GPU and host memory.
int PlanEstimator::TrailingStages(const std::vector<StageFigures>& stages,
                                  double memory_scale) const {
  int least = kUnlimitedTrailingStages;
  const int num_stages = static_cast<int>(stages.size());
  for (int i = 0; i < num_stages; ++i) {
    const StageMemory& memory = stages[i].memory;
    const StageMemory on_host = {
        .static_bytes = memory.host_static_bytes,
        .activation_bytes = memory.host_activation_bytes};
    const int stages_behind = num_stages - 1 - i;
    least = std::min(
        {least,
         TrailingStagesBorne(memory, memory_scale * island_.device.memory_bytes,
                             stages_behind, num_microbatches_),
         TrailingStagesBorne(on_host,
                             memory_scale * island_.device.host.memory_bytes,
                             stages_behind, num_microbatches_)});
  }
  return least;
}

double PlanEstimator::BytesShort(
    const std::vector<StageFigures>& stages) const {
  double most = -kInfinity;
  const int num_stages = static_cast<int>(stages.size());
  for (int i = 0; i < num_stages; ++i) {
    const int in_flight = InFlightMicrobatches(
        num_stages - 1 - i + options_.trailing_stages, num_microbatches_);
    most = std::max(most, stages[i].memory.PeakBytes(in_flight) -
                              island_.device.memory_bytes);
  }
  return most;
}

double PlanEstimator::TransferSecondsAfter(const SlicePlan& plan, int stage,
                                           int first_gpu) const {
  if (stage + 1 == plan.num_stages()) return 0;
  const OperatorCut cut = plan.stages[stage].plan.end;
  return SecondsToNextStage(
      island_, options_,
      {first_gpu, plan.stages[stage].plan.parallelism.num_gpus(),
       plan.stages[stage + 1].plan.parallelism.num_gpus()},
      LayerAt(slice_, cut.layer), cut.op);
}

}  // namespace tangram
