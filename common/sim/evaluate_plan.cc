#include "common/sim/evaluate_plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/base/stop_poll.h"
#include "common/cost/collectives.h"
#include "common/cost/kernels.h"
#include "common/cost/stage_cost.h"
#include "common/domain/stage_part.h"
#include "common/sim/evaluate_mixed_stages.h"
#include "common/sim/held_microbatches.h"
#include "common/sim/memory_holding.h"
#include "common/sim/play_pipeline.h"
#include "common/sim/stage_estimator.h"
#include "common/sim/stage_figures.h"
#include "common/sim/stage_placement.h"
#include "common/sim/tied_matrix.h"

namespace tangram {
namespace {

// The places of the stages of a plan.
using Places = std::vector<const StageEstimator::Place*>;

Places PlacesOf(StageEstimator& estimator, const PipelinePlan& plan) {
  Places places;
  places.reserve(plan.num_stages());
  for (int s = 0; s < plan.num_stages(); ++s) {
    // All chunks of a device have its GPUs.
    places.push_back(s < plan.num_devices()
                         ? &estimator.PlaceOf(plan.stages[s].gpus)
                         : places[s - plan.num_devices()]);
  }
  return places;
}

// Sets the transfers from stage `s` to the next stage and back.
void SetTransfers(const StageEstimator& estimator, const PipelinePlan& plan,
                  const Places& places, int s, StageTimes& times) {
  // Chunks of a single device need no transfers.
  if (s + 1 == plan.num_stages() || plan.num_devices() == 1) return;
  const OperatorCut cut = plan.stages[s].plan.end;
  const TrainingOptions& training = estimator.training();
  const auto bytes_to = [&](const PlacedStage& receiver, bool is_gradient) {
    return SentBytes(estimator.model(), training, plan, cut,
                     receiver.plan.parallelism, is_gradient);
  };
  const double bytes = bytes_to(plan.stages[s + 1], /*is_gradient=*/false);
  const StageEstimator::Place& here = *places[s];
  const StageEstimator::Place& next = *places[s + 1];
  const TransferPath path = estimator.PathBetween(here, next);
  times.send_forward_s = TransferSeconds(bytes, path);
  times.send_blocks = TransferBlocks(training, plan.schedule, bytes, path);
  times.send_is_buffered = training.buffered_sends;
  times.send_backward_s =
      TransferSeconds(bytes_to(plan.stages[s], /*is_gradient=*/true),
                      estimator.PathBetween(next, here));
}

// Adds the exchange of a tied matrix's gradients to the first and the last
// stage.
void AddTiedMatrix(const StageEstimator& estimator, const PipelinePlan& plan,
                   const Places& places, std::vector<StageTimes>& times) {
  if (!SplitsTiedMatrix(estimator.model(), plan)) return;
  const double exchange_s =
      TiedMatrixSeconds(estimator.model(), estimator.training(), plan,
                        estimator.PathBetween(*places.front(), *places.back()));
  times.front().sync_s += exchange_s;
  times.back().sync_s += exchange_s;
}

// Sets the microbatches that the stages hold and the peak of each device:
//   peak = Σ (static + activations) over its stages + max transient.
// Only the largest transient counts, because a device runs one pass at a time.
void SetMemory(StageEstimator& estimator, const PipelinePlan& plan,
               const PipelineShape& shape, absl::Span<const StageCost> costs,
               StopPoll& poll, Evaluation& evaluation) {
  std::vector<double> activation_bytes;
  for (const StageCost& cost : costs) {
    activation_bytes.push_back(cost.memory.activation_bytes +
                               cost.memory.host_activation_bytes);
  }
  const std::vector<int> held =
      MicrobatchesHeldAtPeak(shape, activation_bytes, poll);
  std::vector<StageMemory> devices(shape.num_devices);
  for (int s = 0; s < shape.num_stages(); ++s) {
    StageEvaluation& stage = evaluation.stages[s];
    const StageMemory& kept = costs[s].memory;
    stage.in_flight = held[s];
    const StageMemory full =
        MemoryHolding(estimator, plan.stages[s], plan.pipeline_microbatch_size,
                      HeldOf(shape, s, held[s]), kept);
    stage.activation_bytes = full.activation_bytes;
    stage.transient_bytes = full.transient_bytes;
    StageMemory& device = devices[s % shape.num_devices];
    device.static_bytes += stage.static_bytes;
    device.activation_bytes += stage.activation_bytes;
    device.transient_bytes =
        std::max(device.transient_bytes, stage.transient_bytes);
    device.host_static_bytes += full.HostBytes(/*in_flight=*/1);
  }
  for (int s = 0; s < shape.num_stages(); ++s) {
    const StageMemory& device = devices[s % shape.num_devices];
    evaluation.stages[s].peak_bytes = device.PeakBytes(/*in_flight=*/1);
    evaluation.stages[s].host_bytes = device.host_static_bytes;
  }
}

// Returns the share of compute time, in GPU-seconds and without collectives and
// host copies, that comes from measurements. Without compute time it is 0.
double MeasuredFraction(const PipelinePlan& plan,
                        absl::Span<const StageCost> costs) {
  double measured_gpu_s = 0;
  double compute_gpu_s = 0;
  for (size_t s = 0; s < costs.size(); ++s) {
    const double num_gpus = static_cast<double>(plan.stages[s].gpus.size());
    measured_gpu_s += num_gpus * costs[s].measured_s;
    compute_gpu_s += num_gpus * ComputeSeconds(costs[s]);
  }
  return compute_gpu_s > 0 ? measured_gpu_s / compute_gpu_s : 0;
}

// Returns an error that names the first figure of a stage that is not finite.
// Extreme rates and measurements make such figures.
absl::Status CheckStagesFinite(absl::Span<const StageEvaluation> stages) {
  for (size_t s = 0; s < stages.size(); ++s) {
    const StageEvaluation& stage = stages[s];
    const struct {
      const char* name;
      double value;
    } figures[] = {{"forward_s", stage.forward_s},
                   {"backward_s", stage.backward_s},
                   {"recompute_s", stage.recompute_s},
                   {"collective_s", stage.collective_s},
                   {"copy_s", stage.copy_s},
                   {"send_s", stage.send_s},
                   {"sync_s", stage.sync_s},
                   {"optimizer_s", stage.optimizer_s},
                   {"peak_bytes", stage.peak_bytes},
                   {"host_bytes", stage.host_bytes}};
    for (const auto& figure : figures) {
      if (std::isfinite(figure.value)) continue;
      return FieldError(absl::StrCat("stages[", s, "].", figure.name),
                        figure.value, "a finite number");
    }
  }
  return absl::OkStatus();
}

// Checks the figures of the whole iteration. One of 0 s has no throughput.
absl::Status CheckTotalsFinite(const Evaluation& evaluation) {
  const struct {
    const char* name;
    double value;
  } figures[] = {
      {"samples_per_s", evaluation.samples_per_s},
      {"tokens_per_s", evaluation.tokens_per_s},
      {"model_flops_utilization", evaluation.model_flops_utilization},
      {"bubble_fraction", evaluation.bubble_fraction},
      {"measured_fraction", evaluation.measured_fraction}};
  if (!std::isfinite(evaluation.iteration_time_s) ||
      evaluation.iteration_time_s <= 0) {
    return FieldError("iteration_time_s", evaluation.iteration_time_s,
                      "a positive finite number");
  }
  for (const auto& figure : figures) {
    if (std::isfinite(figure.value)) continue;
    return FieldError(figure.name, figure.value, "a finite number");
  }
  return absl::OkStatus();
}

// Sets the figures of the whole iteration, which takes T seconds:
//   utilization = model FLOPs of the batch / (T · peak FLOP/s),
//   bubble = Σ_d gpus_d · idle_d / Σ_d gpus_d · T.
// No places: there are mixed stages.
void SetTotals(StageEstimator& estimator, const PipelinePlan& plan,
               const Places& places, const PipelineRun& run,
               Evaluation& evaluation) {
  const TrainingOptions& training = estimator.training();
  const double iteration_s = run.iteration_time_s;
  evaluation.iteration_time_s = iteration_s;
  for (int s = 0; s < plan.num_stages(); ++s) {
    evaluation.stages[s].busy_s = run.busy_s[s];
    evaluation.stages[s].passes_end_s =
        run.passes_end_s[s % plan.num_devices()];
  }
  double gpu_s = 0;
  for (int d = 0; d < plan.num_devices(); ++d) {
    gpu_s += static_cast<double>(plan.stages[d].gpus.size()) * iteration_s;
  }
  const double idle_gpu_s = SetIdleSeconds(plan, iteration_s, evaluation);
  evaluation.samples_per_s = training.global_batch_size / iteration_s;
  evaluation.tokens_per_s = evaluation.samples_per_s * training.sequence_length;
  const double peak_flops =
      places.empty() ? PeakFlopsOf(estimator.cluster(), training, plan)
                     : estimator.PeakFlops(plan, places);
  evaluation.model_flops_utilization =
      estimator.model_flops() * evaluation.samples_per_s / peak_flops;
  evaluation.bubble_fraction = idle_gpu_s / gpu_s;
}

// Sets and checks the figures of the whole iteration.
absl::Status Finish(StageEstimator& estimator, const PipelinePlan& plan,
                    const Places& places, const PipelineRun& run,
                    Evaluation& evaluation) {
  SetTotals(estimator, plan, places, run, evaluation);
  return CheckTotalsFinite(evaluation);
}

bool Fits(const StageEvaluation& figures) {
  return figures.peak_bytes <= figures.capacity_bytes &&
         figures.host_bytes <= figures.host_capacity_bytes;
}

// Adds what `figures` of stage `s` exceed. `whose` follows the GPU.
void AddViolations(const StageEvaluation& figures, int s,
                   absl::string_view whose,
                   std::vector<Violation>& violations) {
  if (Fits(figures)) return;
  const auto check = [&](double needed, double capacity,
                         absl::string_view where) {
    if (needed <= capacity) return;
    violations.push_back(
        {.stage = s,
         .reason = absl::StrFormat("needs %.2f GB %s%s, which has %.2f GB",
                                   needed / 1e9, where, whose, capacity / 1e9),
         .bytes_short = needed - capacity});
  };
  check(figures.peak_bytes, figures.capacity_bytes, "on each GPU");
  check(figures.host_bytes, figures.host_capacity_bytes,
        "of each GPU's share of host memory");
}

// Evaluates the stages of a plan in which every stage has equal replicas,
// except for what the schedule decides, and returns their times. The result is
// of no use if the poll has stopped.
std::vector<StageTimes> EstimateStages(StageEstimator& estimator,
                                       const PipelinePlan& plan,
                                       const Places& places,
                                       const PipelineShape& shape,
                                       StopPoll& poll, Evaluation& evaluation) {
  std::vector<StageCost> costs;
  std::vector<StageTimes> times;
  costs.reserve(plan.num_stages());
  times.reserve(plan.num_stages());
  evaluation.stages.reserve(plan.num_stages());
  for (int s = 0; s < plan.num_stages(); ++s) {
    if (poll.After(std::ssize(estimator.runs()))) return {};
    const PlacedStage& stage = plan.stages[s];
    costs.push_back(estimator.CostOf(*places[s], stage.plan,
                                     plan.pipeline_microbatch_size));
    const DeviceSpec& device = places[s]->placed.device;
    // The runtime's reserve counts once per GPU.
    if (s >= plan.num_devices()) {
      costs.back().memory.static_bytes -= device.efficiency.reserved_bytes;
    }
    times.push_back(TimesOf(costs.back()));
    SetTransfers(estimator, plan, places, s, times.back());
    evaluation.stages.push_back(
        StaticEvaluation(costs.back(), times.back(), device));
  }
  AddTiedMatrix(estimator, plan, places, times);
  evaluation.stages.front().sync_s = times.front().sync_s;
  evaluation.stages.back().sync_s = times.back().sync_s;
  SetMemory(estimator, plan, shape, costs, poll, evaluation);
  evaluation.measured_fraction = MeasuredFraction(plan, costs);
  return times;
}

// Returns a lower bound in seconds on the time of the schedule. Device d runs
// all passes of B microbatches, one at a time. Before, the first microbatch
// comes through the first stages of all devices before it. Afterwards, the last
// gradient goes back through them, unless weight gradients, which the device
// may still compute then, have passes of their own:
//
//   T >= max_d Σ_{s on d} B·(f_s + b_s) + Σ_{u<d} (f_u + b_u or 0).
double LeastSeconds(const PipelineShape& shape,
                    absl::Span<const StageEvaluation> stages) {
  std::vector<double> busy_s(shape.num_devices);
  for (size_t s = 0; s < stages.size(); ++s) {
    busy_s[s % busy_s.size()] +=
        shape.num_microbatches * (stages[s].forward_s + stages[s].backward_s);
  }
  double before_s = 0;
  double least_s = 0;
  for (size_t d = 0; d < busy_s.size(); ++d) {
    least_s = std::max(least_s, busy_s[d] + before_s);
    before_s += stages[d].forward_s +
                (shape.splits_backward() ? 0 : stages[d].backward_s);
  }
  return least_s;
}

}  // namespace

std::vector<Violation> ViolationsOf(absl::Span<const StageEvaluation> stages,
                                    int num_devices) {
  std::vector<Violation> violations;
  for (int s = 0; s < num_devices; ++s) {
    const StageEvaluation& stage = stages[s];
    if (stage.replicas.empty()) AddViolations(stage, s, "", violations);
    for (size_t g = 0; g < stage.replicas.size(); ++g) {
      AddViolations(stage.replicas[g], s, absl::StrCat(" of group ", g),
                    violations);
    }
  }
  return violations;
}

double PeakFlopsOf(const Cluster& cluster, const TrainingOptions& training,
                   const PipelinePlan& plan) {
  double total = 0;
  int last_node = -1;
  double of_gpu = 0;
  for (int d = 0; d < plan.num_devices(); ++d) {
    for (const GpuId& gpu : plan.stages[d].gpus) {
      if (gpu.node != last_node) {
        last_node = gpu.node;
        of_gpu = MatmulPeakFlops(cluster.nodes[last_node].device.peak_flops,
                                 training.precision);
      }
      total += of_gpu;
    }
  }
  return total;
}

absl::StatusOr<Evaluation> EvaluatePlan(
    StageEstimator& estimator, const PipelinePlan& plan,
    std::vector<TimelineEvent>* timeline,
    const std::function<bool()>& should_stop) {
  TANGRAM_RETURN_IF_ERROR(estimator.Validate(plan));
  const PipelineShape shape = ShapeOf(plan, estimator.training());
  StopPoll poll(should_stop);
  Evaluation evaluation;
  PipelineRun run;
  Places places;
  if (HasMixedStages(plan)) {
    run = EvaluateMixedStages({.model = estimator.model(),
                               .cluster = estimator.cluster(),
                               .training = estimator.training(),
                               .plan = plan,
                               .shape = shape,
                               .poll = poll,
                               .state = estimator.state()},
                              timeline, evaluation);
  } else {
    places = PlacesOf(estimator, plan);
    const std::vector<StageTimes> times =
        EstimateStages(estimator, plan, places, shape, poll, evaluation);
    if (!poll.stopped()) run = PlayPipeline(shape, times, timeline, poll);
  }
  if (poll.stopped()) return absl::CancelledError("evaluation stopped");
  TANGRAM_RETURN_IF_ERROR(CheckStagesFinite(evaluation.stages));
  evaluation.violations = ViolationsOf(evaluation.stages, plan.num_devices());
  TANGRAM_RETURN_IF_ERROR(Finish(estimator, plan, places, run, evaluation));
  return evaluation;
}

absl::StatusOr<Evaluation> EvaluatePlan(
    const ModelSpec& model, const Cluster& cluster,
    const TrainingOptions& training, const PipelinePlan& plan,
    std::vector<TimelineEvent>* timeline, const StateShare& state,
    const std::function<bool()>& should_stop) {
  StageEstimator estimator(model, cluster, training, state);
  return EvaluatePlan(estimator, plan, timeline, should_stop);
}

absl::StatusOr<std::optional<Evaluation>> EvaluateWithin(
    StageEstimator& estimator, const PipelinePlan& plan, double limit_s,
    const std::function<bool()>& should_stop) {
  if (HasMixedStages(plan)) {
    TANGRAM_ASSIGN_OR_RETURN(
        Evaluation evaluation,
        EvaluatePlan(estimator, plan, nullptr, should_stop));
    if (!evaluation.violations.empty()) return std::nullopt;
    return evaluation;
  }
  TANGRAM_RETURN_IF_ERROR(estimator.Validate(plan));
  const PipelineShape shape = ShapeOf(plan, estimator.training());
  StopPoll poll(should_stop);
  Evaluation evaluation;
  const Places places = PlacesOf(estimator, plan);
  const std::vector<StageTimes> times =
      EstimateStages(estimator, plan, places, shape, poll, evaluation);
  if (poll.stopped()) return absl::CancelledError("evaluation stopped");
  TANGRAM_RETURN_IF_ERROR(CheckStagesFinite(evaluation.stages));
  if (LeastSeconds(shape, evaluation.stages) > limit_s ||
      !absl::c_all_of(
          absl::MakeSpan(evaluation.stages).first(plan.num_devices()), Fits)) {
    return std::nullopt;
  }
  const PipelineRun run =
      PlayPipeline(shape, times, /*timeline=*/nullptr, poll);
  if (poll.stopped()) return absl::CancelledError("evaluation stopped");
  TANGRAM_RETURN_IF_ERROR(Finish(estimator, plan, places, run, evaluation));
  return evaluation;
}

}  // namespace tangram
