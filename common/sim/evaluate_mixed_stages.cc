#include "common/sim/evaluate_mixed_stages.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "common/cost/collectives.h"
#include "common/cost/parameter_bytes.h"
#include "common/cost/stage_cost.h"
#include "common/domain/mixed_stage.h"
#include "common/domain/model_slice.h"
#include "common/domain/stage_part.h"
#include "common/sim/held_microbatches.h"
#include "common/sim/play_routed_pipeline.h"
#include "common/sim/stage_placement.h"
#include "common/sim/tied_matrix.h"
#include "common/sim/unlike_ring.h"

namespace tangram {
namespace {

// A part of a stage with its cost.
struct CostedPart {
  StagePart part;
  PlacedGpus placed;
  StageCost cost;
};

// A stage as it is played: one device, or one for each group if it routes.
struct CostedStage {
  std::vector<CostedPart> parts;
  bool routed = false;
  bool blocks = false;    // Transfers to and from the next stage.
  double exchange_s = 0;  // Gradients between the parts.
  RoutedStage times;

  absl::Span<const CostedPart> PartsOfDevice(int device) const {
    const absl::Span<const CostedPart> all = parts;
    return routed ? all.subspan(device, 1) : all;
  }
};

double NumGpus(const CostedPart& part) {
  return static_cast<double>(part.part.gpus.size());
}

double Slowest(absl::Span<const CostedPart> parts, double StageCost::*seconds) {
  double slowest_s = 0;
  for (const CostedPart& part : parts) {
    slowest_s = std::max(slowest_s, part.cost.*seconds);
  }
  return slowest_s;
}

CostedStage CostOf(const EvaluatedPipeline& in, absl::Span<const LayerRun> runs,
                   const PlacedStage& stage) {
  CostedStage costed = {.routed = IsRouted(stage)};
  std::vector<RingMember> members;
  for (StagePart& part : PartsOf(stage, in.plan.pipeline_microbatch_size,
                                 in.shape.num_microbatches)) {
    StagePlan plan = stage.plan;
    plan.parallelism = part.parallelism;
    PlacedGpus placed = PlacedGpusOf(in.cluster, part.gpus);
    StageEnvironment environment =
        placed.Environment(in.training, part.samples);
    environment.state = in.state;
    StageCost cost = EstimateStage(runs, plan, environment);
    members.push_back(MemberOf(in.cluster, part));
    costed.parts.push_back(
        {.part = part, .placed = std::move(placed), .cost = cost});
  }
  if (members.size() > 1) {
    std::vector<const RingMember*> ring;
    for (const RingMember& member : members) ring.push_back(&member);
    costed.exchange_s = RingSeconds(
        in.cluster, ring,
        AllReduceTraffic(
            ParametersOf(in.model, stage.plan.begin, stage.plan.end),
            GradientBytes(in.training), static_cast<int>(members.size())));
  }
  return costed;
}

// Sets the durations of the stage's devices. A device with several parts waits
// for the slowest.
void SetDevices(const PlacedStage& stage, CostedStage& costed) {
  const int num_devices =
      costed.routed ? static_cast<int>(costed.parts.size()) : 1;
  for (int d = 0; d < num_devices; ++d) {
    const absl::Span<const CostedPart> parts = costed.PartsOfDevice(d);
    costed.times.devices.push_back(
        {.forward_s = Slowest(parts, &StageCost::forward_s),
         .backward_s = Slowest(parts, &StageCost::backward_s),
         .sync_s = Slowest(parts, &StageCost::sync_s),
         .optimizer_s = Slowest(parts, &StageCost::optimizer_s)});
  }
  costed.times.exchange_s = costed.exchange_s;
  if (!costed.routed) return;
  std::vector<int> shares;
  for (const ReplicaGroup& group : stage.mixed.groups) {
    shares.push_back(group.share);
  }
  costed.times.route = RouteMicrobatches(shares);
}

// One side of a transfer: all GPUs of a device, and its parts.
struct Side {
  absl::Span<const GpuId> gpus;
  absl::Span<const CostedPart> parts;
};

Side SideOf(const PlacedStage& stage, const CostedStage& costed, int device) {
  const absl::Span<const CostedPart> parts = costed.PartsOfDevice(device);
  return {.gpus = costed.routed ? parts.front().part.gpus
                                : absl::Span<const GpuId>(stage.gpus),
          .parts = parts};
}

// A transfer of one microbatch.
struct Transfer {
  double seconds = 0;
  bool blocks = false;
};

// Returns the slowest of the transfers between all GPUs of both sides and, for
// each part, of its samples between its GPUs and the other side.
Transfer TransferBetween(const EvaluatedPipeline& in, double bytes,
                         const Side& from, const Side& to) {
  Transfer slowest;
  const auto add = [&](absl::Span<const GpuId> a, absl::Span<const GpuId> b,
                       double share) {
    const TransferPath path = PathBetween(in.cluster, a, b);
    slowest.seconds =
        std::max(slowest.seconds, TransferSeconds(bytes * share, path));
    slowest.blocks |=
        TransferBlocks(in.training, in.plan.schedule, bytes * share, path);
  };
  const double samples = in.plan.pipeline_microbatch_size;
  add(from.gpus, to.gpus, 1);
  if (from.parts.size() > 1) {
    for (const CostedPart& part : from.parts) {
      add(part.part.gpus, to.gpus, part.part.samples / samples);
    }
  }
  if (to.parts.size() > 1) {
    for (const CostedPart& part : to.parts) {
      add(from.gpus, part.part.gpus, part.part.samples / samples);
    }
  }
  return slowest;
}

double BoundaryBytesAfter(const EvaluatedPipeline& in, int s) {
  const OperatorCut cut = in.plan.stages[s].plan.end;
  return BoundaryBytes(in.model.layers[cut.layer], cut.op,
                       in.plan.pipeline_microbatch_size, in.training);
}

class MixedEvaluator {
 public:
  explicit MixedEvaluator(const EvaluatedPipeline& in) : in_(in) {
    const std::vector<LayerRun> runs =
        MakeSlice({0, in.model.num_layers()}, in.model.layers).runs;
    for (const PlacedStage& stage : in.plan.stages) {
      stages_.push_back(CostOf(in, runs, stage));
    }
    AddTiedMatrix();
    for (int s = 0; s < num_stages(); ++s) {
      SetDevices(in.plan.stages[s], stages_[s]);
    }
    for (int s = 0; s + 1 < num_stages() && !in_.poll.stopped(); ++s) {
      SetSends(s);
      in_.poll.After(in_.shape.num_microbatches);
    }
    held_ = MicrobatchesHeldAtPeak(in.shape,
                                   std::vector<double>(num_stages(), 1.0));
  }

  // Plays the passes. Returns their ends by stage and device.
  RoutedRun Play(std::vector<TimelineEvent>* timeline) const {
    std::vector<RoutedStage> times;
    bool routed = false;
    for (const CostedStage& stage : stages_) {
      times.push_back(stage.times);
      routed |= stage.routed;
    }
    if (routed) {
      return PlayRoutedPipeline(in_.shape, times, timeline, in_.poll);
    }
    return PlayInLockStep(timeline);
  }

  void SetFigures(const RoutedRun& run, Evaluation& evaluation,
                  PipelineRun& whole) const {
    whole.iteration_time_s = run.iteration_time_s;
    for (int s = 0; s < num_stages() && !in_.poll.stopped(); ++s) {
      in_.poll.After(in_.shape.num_microbatches);
      evaluation.stages.push_back(StageFigures(s, run, whole));
    }
    double measured_gpu_s = 0;
    double compute_gpu_s = 0;
    for (const CostedStage& stage : stages_) {
      for (const CostedPart& part : stage.parts) {
        const double microbatches = NumGpus(part) * part.part.num_microbatches;
        measured_gpu_s += microbatches * part.cost.measured_s;
        compute_gpu_s += microbatches * ComputeSeconds(part.cost);
      }
    }
    evaluation.measured_fraction =
        compute_gpu_s > 0 ? measured_gpu_s / compute_gpu_s : 0;
  }

 private:
  int num_stages() const { return in_.shape.num_stages(); }

  void AddTiedMatrix() {
    if (!SplitsTiedMatrix(in_.model, in_.plan)) return;
    const double exchange_s =
        TiedMatrixSeconds(in_.model, in_.training, in_.plan,
                          PathBetween(in_.cluster, in_.plan.stages.front().gpus,
                                      in_.plan.stages.back().gpus));
    stages_.front().exchange_s += exchange_s;
    stages_.back().exchange_s += exchange_s;
  }

  // Sets the transfers between stage `s` and the next, for every pair of
  // devices that a microbatch takes.
  void SetSends(int s) {
    RoutedStage& here = stages_[s].times;
    const RoutedStage& next = stages_[s + 1].times;
    const double bytes = BoundaryBytesAfter(in_, s);
    const bool is_routed = !here.route.empty() || !next.route.empty();
    const int microbatches = is_routed ? in_.shape.num_microbatches : 1;
    for (int m = 0; m < microbatches; ++m) {
      const std::pair<int, int> pair = {here.DeviceOf(m), next.DeviceOf(m)};
      const auto [times, is_new] = here.sends.try_emplace(pair);
      if (!is_new) continue;
      const Side from = SideOf(in_.plan.stages[s], stages_[s], pair.first);
      const Side to =
          SideOf(in_.plan.stages[s + 1], stages_[s + 1], pair.second);
      const Transfer forward = TransferBetween(in_, bytes, from, to);
      stages_[s].blocks |= forward.blocks;
      times->second = {
          .forward_s = forward.seconds,
          .backward_s = TransferBetween(in_, bytes, to, from).seconds};
    }
  }

  // Without routes, the stages are those of any pipeline.
  RoutedRun PlayInLockStep(std::vector<TimelineEvent>* timeline) const {
    std::vector<StageTimes> times;
    for (const CostedStage& stage : stages_) {
      const RoutedDevice& device = stage.times.devices.front();
      times.push_back({.forward_s = device.forward_s,
                       .backward_s = device.backward_s,
                       .send_blocks = stage.blocks,
                       .send_is_buffered = in_.training.buffered_sends,
                       .sync_s = device.sync_s + stage.exchange_s,
                       .optimizer_s = device.optimizer_s});
      if (stage.times.sends.empty()) continue;
      const BoundaryTimes& send = stage.times.sends.begin()->second;
      times.back().send_forward_s = send.forward_s;
      times.back().send_backward_s = send.backward_s;
    }
    const PipelineRun run = PlayPipeline(in_.shape, times, timeline, in_.poll);
    RoutedRun routed = {.iteration_time_s = run.iteration_time_s};
    for (const double end_s : run.passes_end_s) {
      routed.passes_end_s.push_back({end_s});
    }
    return routed;
  }

  // Returns the microbatches that each part of a stage holds at its peak.
  std::vector<int> HeldByParts(int s) const {
    const CostedStage& stage = stages_[s];
    if (stage.routed) return HeldByDevices(in_.shape, s, stage.times, in_.poll);
    return std::vector<int>(stage.parts.size(), held_[s]);
  }

  // Returns the mean time of the transfers to and from the next stage over the
  // microbatches of a device.
  double SendSeconds(int s, int device) const {
    if (s + 1 == num_stages()) return 0;
    const RoutedStage& here = stages_[s].times;
    const RoutedStage& next = stages_[s + 1].times;
    const bool is_routed = !here.route.empty() || !next.route.empty();
    double sum_s = 0;
    int count = 0;
    for (int m = 0; m < (is_routed ? in_.shape.num_microbatches : 1); ++m) {
      if (here.DeviceOf(m) != device) continue;
      const BoundaryTimes& send = here.sends.at({device, next.DeviceOf(m)});
      sum_s += send.forward_s + send.backward_s;
      ++count;
    }
    return sum_s / count;
  }

  // Returns the figures of one part, as of a stage of its own.
  StageEvaluation PartFigures(int s, size_t p, int held,
                              const RoutedRun& run) const {
    const CostedStage& stage = stages_[s];
    const CostedPart& part = stage.parts[p];
    const int device = stage.routed ? static_cast<int>(p) : 0;
    const StageMemory& memory = part.cost.memory;
    StageEvaluation figures =
        StaticEvaluation(part.cost, StageTimes(), part.placed.device);
    figures.send_s = SendSeconds(s, device);
    figures.sync_s += stage.exchange_s;
    figures.busy_s =
        part.part.num_microbatches * (figures.forward_s + figures.backward_s);
    figures.passes_end_s = run.passes_end_s[s][device];
    figures.in_flight = held;
    figures.activation_bytes = held * memory.activation_bytes;
    figures.peak_bytes = memory.PeakBytes(held);
    figures.host_bytes = memory.HostBytes(held);
    return figures;
  }

  // Returns the figures of a stage from those of its parts
  // (StageEvaluation::replicas).
  StageEvaluation StageFigures(int s, const RoutedRun& run,
                               PipelineRun& whole) const {
    const CostedStage& stage = stages_[s];
    const std::vector<int> held = HeldByParts(s);
    std::vector<StageEvaluation> parts;
    double busy_gpu_s = 0;
    double num_gpus = 0;
    for (size_t p = 0; p < stage.parts.size(); ++p) {
      parts.push_back(PartFigures(s, p, held[p], run));
      const double gpus = NumGpus(stage.parts[p]);
      busy_gpu_s += gpus * parts.back().busy_s;
      num_gpus += gpus;
    }
    whole.busy_s.push_back(busy_gpu_s / num_gpus);
    const std::vector<double>& ends_s = run.passes_end_s[s];
    whole.passes_end_s.push_back(
        *std::max_element(ends_s.begin(), ends_s.end()));
    if (parts.size() == 1) return parts.front();
    StageEvaluation figures = Fullest(parts);
    SetSlowest(stage, parts, whole.passes_end_s.back(), figures);
    figures.replicas = std::move(parts);
    return figures;
  }

  static const StageEvaluation& Fullest(
      const std::vector<StageEvaluation>& parts) {
    return *std::max_element(parts.begin(), parts.end(),
                             [](const auto& a, const auto& b) {
                               return a.peak_bytes * b.capacity_bytes <
                                      b.peak_bytes * a.capacity_bytes;
                             });
  }

  // Sets the times of a mixed stage: of one microbatch, those of the part that
  // is busy longest, over all microbatches of the pipeline; in lock-step, each
  // pass waits for its slowest part. sync_s runs from the last pass of the
  // stage to the end of the exchange.
  void SetSlowest(const CostedStage& stage,
                  const std::vector<StageEvaluation>& parts,
                  double passes_end_s, StageEvaluation& figures) const {
    const auto slowest = std::max_element(
        parts.begin(), parts.end(),
        [](const auto& a, const auto& b) { return a.busy_s < b.busy_s; });
    const size_t p = slowest - parts.begin();
    const double share =
        1.0 * stage.parts[p].part.num_microbatches / in_.shape.num_microbatches;
    figures.forward_s = share * slowest->forward_s;
    figures.backward_s = share * slowest->backward_s;
    figures.recompute_s = share * slowest->recompute_s;
    figures.collective_s = share * slowest->collective_s;
    figures.copy_s = share * slowest->copy_s;
    figures.send_s = share * slowest->send_s;
    if (!stage.routed) {
      figures.forward_s = stage.times.devices.front().forward_s;
      figures.backward_s = stage.times.devices.front().backward_s;
    }
    double reduced_s = 0;
    figures.optimizer_s = 0;
    for (const StageEvaluation& part : parts) {
      reduced_s = std::max(reduced_s, part.passes_end_s + part.sync_s);
      figures.optimizer_s = std::max(figures.optimizer_s, part.optimizer_s);
    }
    figures.sync_s = reduced_s - passes_end_s;
  }

  const EvaluatedPipeline& in_;
  std::vector<CostedStage> stages_;
  // Microbatches that each stage holds at its peak, unless it routes.
  std::vector<int> held_;
};

}  // namespace

PipelineRun EvaluateMixedStages(const EvaluatedPipeline& in,
                                std::vector<TimelineEvent>* timeline,
                                Evaluation& evaluation) {
  PipelineRun whole;
  const MixedEvaluator evaluator(in);
  if (in.poll.stopped()) return whole;
  const RoutedRun run = evaluator.Play(timeline);
  if (!in.poll.stopped()) evaluator.SetFigures(run, evaluation, whole);
  return whole;
}

}  // namespace tangram
