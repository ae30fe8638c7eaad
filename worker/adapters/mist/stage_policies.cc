#include "worker/adapters/mist/stage_policies.h"

#include <algorithm>

#include "common/domain/stage_limits.h"
#include "common/parallelizer/trailing_stages.h"
#include "worker/adapters/mist/intra_stage.h"

namespace tangram::mist {
namespace {

// Fractions of the activations that a stage may keep on the host.
constexpr double kActivations[] = {0, 0.125, 0.25, 0.5, 1};

// Model state leaves the GPU in the order of what it costs to bring back.
// Optimizer state is copied once an iteration, gradients once a backward pass
// each way, weights in every pass. The grid is coarser than the paper's;
// choosing the fewest recomputed layers makes up for it.
constexpr HostOffload kStates[] = {
    {},
    {.optimizer = 0.5},
    {.optimizer = 1},
    {.gradients = 1, .optimizer = 1},
    {.weights = 1, .gradients = 1, .optimizer = 1}};

std::vector<HostOffload> OffloadsWith(const HostLink& host) {
  if (host.bandwidth_bytes_per_s <= 0) return {{}};
  std::vector<HostOffload> offloads;
  for (HostOffload offload : kStates) {
    for (const double activations : kActivations) {
      offload.activations = activations;
      offloads.push_back(offload);
    }
  }
  return offloads;
}

}  // namespace

StagePolicies::StagePolicies(const SliceLayers& layers,
                             const IslandSpec& island,
                             const ParallelizeOptions& options,
                             const SplitLimits& limits, int num_gpus)
    : layers_(layers),
      device_(island.device),
      num_microbatches_(options.training.global_batch_size /
                        options.pipeline_microbatch_size),
      offloads_(OffloadsWith(island.limits.no_offload ? HostLink()
                                                      : island.device.host)) {
  for (StageParallelism parallelism :
       ParallelismsOf(num_gpus, island, limits, {})) {
    for (const int zero_stage : ZeroStagesOf(parallelism, island.limits)) {
      SetZero(island.limits, zero_stage, parallelism);
      degrees_.push_back(std::make_unique<DegreeCosts>(layers, island, options,
                                                       offloads_, parallelism));
    }
  }
}

double StagePolicies::BytesShort(const StageMemory& memory,
                                 int stages_behind) const {
  const int in_flight = InFlightMicrobatches(stages_behind, num_microbatches_);
  return std::max(memory.PeakBytes(in_flight) - device_.memory_bytes,
                  memory.HostBytes(in_flight) - device_.host.memory_bytes);
}

// Limited by the GPU and by its share of the host.
int StagePolicies::StagesBehindBorne(const StageMemory& memory) const {
  const StageMemory on_host = {
      .static_bytes = memory.host_static_bytes,
      .activation_bytes = memory.host_activation_bytes};
  return std::min(TrailingStagesBorne(memory, device_.memory_bytes,
                                      /*stages_behind=*/0, num_microbatches_),
                  TrailingStagesBorne(on_host, device_.host.memory_bytes,
                                      /*stages_behind=*/0, num_microbatches_));
}

// Stages of the same runs of layers share a composition.
StagePolicies::Composition& StagePolicies::CompositionOf(int begin, int end) {
  Composition*& known = composition_at_[{begin, end}];
  if (known != nullptr) return *known;
  std::vector<std::pair<int, int>> runs;
  layers_.ForEachRun(
      begin, end, [&](int kind, int count) { runs.emplace_back(kind, count); });
  known = &compositions_
               .try_emplace(std::move(runs),
                            Composition{.begin = begin, .end = end})
               .first->second;
  known->figures.resize(degrees_.size() * offloads_.size());
  return *known;
}

// Estimates a stage once for each choice.
const StagePolicies::Figures& StagePolicies::FiguresOf(Composition& composition,
                                                       int degrees, int offload,
                                                       int steps) {
  DegreeCosts& of = *degrees_[degrees];
  std::vector<Figures>& by_steps =
      composition.figures[degrees * offloads_.size() + offload];
  if (by_steps.empty()) {
    by_steps.resize(1 +
                    of.StepsOf(composition.begin, composition.end).num_steps());
  }
  Figures& figures = by_steps[steps];
  if (!figures.known) {
    ++costs_estimated_;
    const StageCost cost =
        of.CostOf(composition.begin, composition.end, offload, steps);
    figures = {.known = true,
               .stages_behind_borne = StagesBehindBorne(cost.memory),
               .policy = {.steady_s = cost.forward_s + cost.backward_s,
                          .extra_s = cost.sync_s + cost.optimizer_s}};
  }
  return figures;
}

const TunedStage& StagePolicies::Tuned(int begin, int end, int stages_behind) {
  Composition& composition = CompositionOf(begin, end);
  // With so many stages behind, all microbatches are in flight.
  stages_behind = std::min(stages_behind, num_microbatches_ - 1);
  const auto [found, is_new] = composition.tuned.try_emplace(stages_behind);
  if (is_new) found->second = Tune(composition, stages_behind);
  return found->second;
}

void StagePolicies::TuneWith(absl::Span<const HostOffload> offloads,
                             int stages_behind, Composition& composition,
                             PolicyFront& front) {
  for (int i = 0; i < static_cast<int>(degrees_.size()); ++i) {
    const RecomputeSteps possible =
        degrees_[i]->StepsOf(composition.begin, composition.end);
    TunePolicies(
        i, offloads, possible.num_steps(),
        [&](int offload, int step) -> PolicyFigures {
          const Figures& figures = FiguresOf(composition, i, offload, step);
          return {.policy = figures.policy,
                  .fits = figures.stages_behind_borne >= stages_behind};
        },
        front);
  }
}

TunedStage StagePolicies::Tune(Composition& composition, int stages_behind) {
  PolicyFront front;
  // The first pass offloads nothing. Its policies rule out most degrees in the
  // second.
  TuneWith({offloads_.data(), 1}, stages_behind, composition, front);
  TuneWith(offloads_, stages_behind, composition, front);
  TunedStage tuned;
  for (const TunedPolicy& found : front.policies()) {
    tuned.policies.push_back(found.policy);
    tuned.details.push_back(
        {.degrees = degrees_[found.degrees].get(),
         .offload = found.offload,
         .recompute_steps = found.recomputed,
         .stages_behind_borne = FiguresOf(composition, found.degrees,
                                          found.offload, found.recomputed)
                                    .stages_behind_borne});
  }
  if (!tuned.policies.empty()) {
    tuned.fastest = {{.steady_s = tuned.policies[0].steady_s}};
  }
  return tuned;
}

}  // namespace tangram::mist
