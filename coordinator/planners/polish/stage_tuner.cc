#include "coordinator/planners/polish/stage_tuner.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/base/infinity.h"
#include "common/domain/recompute_masks.h"
#include "common/domain/runtime.h"
#include "common/domain/stage_limits.h"
#include "common/domain/stage_part.h"

namespace tangram {
namespace {

// A change must gain more than this fraction, so that rounding makes no cycle.
constexpr double kLeastStageGain = 1e-9;

// Parts are kept on the host in steps of this fraction.
constexpr double kOffloadStep = 0.125;

// Ways to recompute beyond so many are not tried.
constexpr size_t kMostChoices = 8;

constexpr double HostOffload::*kOffloadParts[] = {
    &HostOffload::optimizer, &HostOffload::activations, &HostOffload::gradients,
    &HostOffload::weights};

// Kept answers beyond so many are forgotten, to bound the memory.
constexpr size_t kMostAnswers = 1 << 15;

// The weight of time that delays nothing, which decides between equals.
constexpr double kFreeWeight = 1e-3;

// Returns `mask` for a layer that has all its operators, or no recomputation.
OpMask MaskOn(const LayerSpec& layer, OpMask mask) {
  const bool has_operators =
      layer.kind == LayerKind::kTransformer &&
      (mask & ~kDropOutputs & ~WholeLayerMask(layer)) == 0;
  return has_operators ? mask : kRecomputeNone;
}

bool Recomputes(const StagePlan& stage) {
  return absl::c_any_of(stage.recompute, [](const RecomputeRun& run) {
    return run.mask != kRecomputeNone;
  });
}

}  // namespace

StageTuner::StageTuner(const PlanRequest& request, const PipelineRules& rules,
                       const PipelinePlan& plan, StageEstimator& estimator)
    : rules_(rules),
      limits_(
          Join(rules.stages, LimitsOfAllStages(request.constraints)).limits),
      estimator_(estimator),
      runs_(estimator.runs()) {
  Choice none;
  Choice cores;
  Choice whole;
  for (size_t r = 0; r < runs_.size(); ++r) {
    const LayerSpec& layer = runs_[r].layer;
    run_of_layer_.insert(run_of_layer_.end(), runs_[r].count,
                         static_cast<int>(r));
    none.push_back(kRecomputeNone);
    cores.push_back(MaskOn(layer, AttentionCoreMask(layer)));
    whole.push_back(MaskOn(layer, WholeLayerMask(layer)));
  }
  AddChoice(std::move(none));
  AddChoice(std::move(cores));
  AddChoice(std::move(whole));
  for (const PlacedStage& stage : plan.stages) {
    for (const RecomputeRun& run : stage.plan.recompute) {
      Choice choice;
      for (const LayerRun& layers : runs_) {
        choice.push_back(MaskOn(layers.layer, run.mask));
      }
      AddChoice(std::move(choice));
    }
  }
}

void StageTuner::AddChoice(Choice choice) {
  if (choices_.size() < kMostChoices &&
      !absl::c_linear_search(choices_, choice)) {
    choices_.push_back(std::move(choice));
  }
}

bool StageTuner::IsAllowed(const StagePlan& stage) const {
  if (!WhyOutside(limits_, stage, runs_).empty()) return false;
  return rules_.runtime == nullptr ||
         WhyNotRunnable(*rules_.runtime, stage, runs_).empty();
}

void StageTuner::SetRecompute(int num_heavy, const Choice& heavy,
                              const Choice& odd, const Choice& light,
                              StagePlan& stage) const {
  stage.recompute.clear();
  int seen = 0;  // Layers that can be recomputed.
  const int num_layers = LayersTouched(stage.begin, stage.end);
  for (int i = 0; i < num_layers; ++i) {
    const int run = run_of_layer_[stage.begin.layer + i];
    const bool may = runs_[run].layer.kind == LayerKind::kTransformer;
    const Choice& choice = seen < num_heavy    ? heavy
                           : seen == num_heavy ? odd
                                               : light;
    AppendMask(may ? choice[run] : kRecomputeNone, stage.recompute);
    seen += may;
  }
}

std::vector<const StageTuner::Choice*> StageTuner::AllowedChoices(
    const StagePlan& stage) const {
  std::vector<const Choice*> allowed;
  StagePlan tried = stage;
  for (const Choice& choice : choices_) {
    SetRecompute(0, choice, choice, choice, tried);
    if (IsAllowed(tried)) allowed.push_back(&choice);
  }
  return allowed;
}

StageTuner::Tried StageTuner::Try(const StageSetting& setting,
                                  const PlacedStage& stage) {
  ++num_estimated_;
  const StageCost cost = estimator_.CostOf(stage, setting.microbatch_size);
  const StageMemory memory = MemoryHolding(
      estimator_, stage, setting.microbatch_size, setting.held, cost.memory);
  const DeviceSpec& device = estimator_.DeviceOf(stage.gpus);
  const double peak_bytes =
      memory.static_bytes +
      std::max(memory.transient_bytes, setting.taken_transient_bytes) +
      memory.activation_bytes + setting.taken_bytes;
  const double host_bytes =
      memory.HostBytes(/*in_flight=*/1) + setting.taken_host_bytes;
  const double passes_s = cost.forward_s + cost.backward_s;
  const double tail_s = cost.sync_s + cost.optimizer_s;
  const int num_microbatches = setting.num_microbatches;
  return {
      .seconds = num_microbatches * std::max(passes_s, setting.free_pass_s) +
                 std::max(0.0, tail_s - setting.free_tail_s) +
                 kFreeWeight * (num_microbatches * passes_s + tail_s),
      .fits = peak_bytes <= device.memory_bytes &&
              host_bytes <= device.host.memory_bytes,
      .peak_bytes = peak_bytes};
}

// The layers of a stage are alike. If all of them recompute in one way a, the
// stage fits; if all do in another way b, it takes less time but does not fit.
// Then the fewest layers with a, and the others with b, take the least time of
// all mixes of the two. One layer in between may still do with less than a.
double StageTuner::Fit(const StageSetting& setting, PlacedStage& stage) {
  const std::vector<const Choice*> choices = AllowedChoices(stage.plan);
  std::vector<Tried> uniform;
  double best_s = kInfinity;
  PlacedStage best = stage;
  PlacedStage next = stage;
  const auto take = [&](int num_heavy, const Choice& heavy, const Choice& odd,
                        const Choice& light) {
    SetRecompute(num_heavy, heavy, odd, light, next.plan);
    const Tried tried = Try(setting, next);
    if (tried.fits && tried.seconds < best_s) {
      best_s = tried.seconds;
      best.plan.recompute = next.plan.recompute;
    }
    return tried;
  };
  for (const Choice* choice : choices) {
    uniform.push_back(take(0, *choice, *choice, *choice));
  }
  const int num_layers = LayersTouched(stage.plan.begin, stage.plan.end);
  for (size_t a = 0; a < choices.size(); ++a) {
    for (size_t b = 0; b < choices.size(); ++b) {
      if (!uniform[a].fits || uniform[b].fits) continue;
      if (uniform[b].seconds >= best_s) continue;
      // Not fitting with `few` layers, fitting with `many`.
      int few = 0;
      int many = num_layers;
      while (many - few > 1) {
        const int middle = (few + many) / 2;
        (take(middle, *choices[a], *choices[b], *choices[b]).fits ? many
                                                                  : few) =
            middle;
      }
      for (const Choice* odd : choices) {
        if (odd == choices[b]) continue;
        take(many - 1, *choices[a], *odd, *choices[b]);
      }
    }
  }
  if (best_s < kInfinity) stage.plan.recompute = best.plan.recompute;
  return best_s;
}

bool StageTuner::Ask(bool tunes, const StageSetting& setting,
                     PlacedStage& stage, absl::FunctionRef<bool()> fit) {
  Question question{.tunes = tunes,
                    .device = &estimator_.DeviceOf(stage.gpus),
                    .setting = setting,
                    .stage = stage.plan,
                    .recomputes = tunes && Recomputes(stage.plan)};
  question.stage.recompute.clear();
  const auto known = answers_.find(question);
  if (known != answers_.end()) {
    const Answer& answer = known->second;
    num_estimated_ += answer.num_estimated;
    if (answer.fits) stage.plan = answer.stage;
    return answer.fits;
  }
  if (answers_.size() >= kMostAnswers) answers_.clear();
  const int64_t before = num_estimated_;
  const bool fits = fit();
  answers_[std::move(question)] = {.fits = fits,
                                   .stage = fits ? stage.plan : StagePlan(),
                                   .num_estimated = num_estimated_ - before};
  return fits;
}

bool StageTuner::FitRecompute(const StageSetting& setting, PlacedStage& stage) {
  return Ask(/*tunes=*/false, setting, stage,
             [&] { return Fit(setting, stage) < kInfinity; });
}

void StageTuner::RecomputeMost(const StageSetting& setting,
                               PlacedStage& stage) {
  double least_bytes = kInfinity;
  PlacedStage next = stage;
  for (const Choice* choice : AllowedChoices(stage.plan)) {
    SetRecompute(0, *choice, *choice, *choice, next.plan);
    const double bytes = Try(setting, next).peak_bytes;
    if (bytes >= least_bytes) continue;
    least_bytes = bytes;
    stage.plan.recompute = next.plan.recompute;
  }
}

std::vector<StagePlan> StageTuner::Variations(const PlacedStage& placed) {
  const StagePlan& stage = placed.plan;
  std::vector<StagePlan> variations;
  const auto add = [&](StagePlan changed) {
    if (changed == stage || !IsAllowed(changed)) return;
    variations.push_back(std::move(changed));
  };
  const StageParallelism& degrees = stage.parallelism;
  if (degrees.num_replicas() > 1) {
    for (int zero_stage = 0; zero_stage <= 3; ++zero_stage) {
      StagePlan changed = stage;
      SetZero(limits_, zero_stage, changed.parallelism);
      add(std::move(changed));
    }
  }
  // Nothing is gained by the host if all is on the GPU and nothing recomputed.
  const bool knows_host =
      estimator_.DeviceOf(placed.gpus).host.bandwidth_bytes_per_s > 0;
  if (!knows_host || (!Recomputes(stage) && stage.offload.none()))
    return variations;
  for (double HostOffload::*const part : kOffloadParts) {
    const double now = stage.offload.*part;
    for (const double share :
         {now - kOffloadStep, now + kOffloadStep, 0.0, 1.0}) {
      StagePlan changed = stage;
      changed.offload.*part = std::clamp(share, 0.0, 1.0);
      add(std::move(changed));
    }
  }
  return variations;
}

bool StageTuner::Tune(const StageSetting& setting, PlacedStage& stage) {
  return Ask(/*tunes=*/true, setting, stage,
             [&] { return TuneAnew(setting, stage); });
}

bool StageTuner::TuneAnew(const StageSetting& setting, PlacedStage& stage) {
  double best_s = Fit(setting, stage);
  bool helps = true;
  while (helps) {
    helps = false;
    for (StagePlan& changed : Variations(stage)) {
      PlacedStage next = stage;
      next.plan = std::move(changed);
      const double seconds = Fit(setting, next);
      if (seconds >= best_s * (1 - kLeastStageGain)) continue;
      best_s = seconds;
      stage = std::move(next);
      helps = true;
      break;
    }
  }
  return best_s < kInfinity;
}

}  // namespace tangram
