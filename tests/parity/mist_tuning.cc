#include "tests/parity/mist_tuning.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "worker/adapters/mist/inter_stage.h"
#include "worker/adapters/mist/intra_stage.h"

namespace tangram::mist::reference {
namespace {

constexpr double kStateFractions[] = {0, .25, .375, .5, .75, 1};
constexpr double kOtherFractions[] = {0, .25, .375, .5, .625, .75, .875, 1};

// Returns the combinations of fractions. Each comes after all that offload no
// more of anything. Weights are offloaded only if gradients are, as upstream
// does.
std::vector<HostOffload> Combinations(absl::Span<const double> states,
                                      absl::Span<const double> others) {
  std::vector<HostOffload> offloads;
  for (const double weights : states) {
    for (const double gradients : states) {
      if (weights > 0 && gradients == 0) continue;
      for (const double optimizer : others) {
        for (const double activations : others) {
          offloads.push_back({.weights = weights,
                              .gradients = gradients,
                              .optimizer = optimizer,
                              .activations = activations});
        }
      }
    }
  }
  return offloads;
}

std::vector<HostOffload> Offloads(const TuningCase& tuning) {
  if (!tuning.offloads) return {HostOffload{}};
  return Combinations(kStateFractions, kOtherFractions);
}

// Finds the best pipeline with given numbers of microbatches and stages.
class Tuner {
 public:
  Tuner(const TuningCase& tuning, absl::Span<const HostOffload> offloads,
        int num_microbatches, int num_stages)
      : tuning_(tuning),
        offloads_(offloads),
        num_stages_(num_stages),
        stage_gpus_(tuning.num_gpus / num_stages),
        num_microbatches_(num_microbatches),
        samples_(tuning.global_batch / num_microbatches / stage_gpus_),
        passes_(3 * offloads.size()) {}

  // Returns whether the batch divides and the latencies of this many samples
  // are known.
  bool IsPossible() const {
    return tuning_.global_batch % (num_microbatches_ * stage_gpus_) == 0 &&
           (samples_ == 1 || samples_ == 2 || samples_ == 4);
  }

  TunedPipeline Run() {
    TunedPipeline best = {std::numeric_limits<double>::infinity(), {}};
    for (const StagedPipeline& pipeline :
         ChoosePolicies({.num_layers = tuning_.num_layers,
         .num_stages = num_stages_,
         .option = [this](int stage, int begin, int end) {
           return OptionOf(stage, end - begin);
         }})) {
      const double seconds = pipeline.IterationSeconds(num_microbatches_);
      if (seconds < best.iteration_s) best = {seconds, StagesOf(pipeline)};
    }
    return best;
  }

 private:
  struct Tuned {
    bool known = false;
    std::vector<StagePolicy> policies;
    std::vector<Stage> stages;
  };

  StageOption OptionOf(int stage, int layers) {
    const int even =
        static_cast<int>(std::lround(1.0 * tuning_.num_layers / num_stages_));
    if (layers < even - 2 || layers > even + 2) return {};
    Tuned& tuned = tuned_[{stage, layers}];
    if (!tuned.known) TuneStage(stage, layers, tuned);
    return {.policies = tuned.policies};
  }

  void TuneStage(int stage, int layers, Tuned& tuned) {
    tuned.known = true;
    Stage like = {.gpus_per_node = stage_gpus_,
                  .num_microbatches = num_microbatches_,
                  .policy = {.samples = samples_, .dp = stage_gpus_},
                  .layers = layers,
                  .stages_behind = num_stages_ - 1 - stage,
                  .has_pre = stage == 0,
                  .has_post = stage + 1 == num_stages_};
    PolicyFront front;
    const int num_shardings = stage_gpus_ > 1 ? 3 : 1;
    for (int sharded = 0; sharded < num_shardings; ++sharded) {
      TunePolicies(
          sharded, offloads_, layers,
          [&](int offload, int recomputed) {
            return FiguresOf(stage, With(like, sharded, offload, recomputed),
                             PassesWith(like, sharded, offload));
          },
          front);
    }
    for (const TunedPolicy& found : front.policies()) {
      tuned.policies.push_back(found.policy);
      tuned.stages.push_back(
          With(like, found.degrees, found.offload, found.recomputed));
    }
  }

  Stage With(Stage stage, int sharded, int offload, int recomputed) const {
    stage.recomputed = recomputed;
    stage.policy.shard_gradients = sharded >= 1;
    stage.policy.shard_weights = sharded >= 2;
    stage.policy.offload_weights = offloads_[offload].weights;
    stage.policy.offload_gradients = offloads_[offload].gradients;
    stage.policy.offload_optimizer = offloads_[offload].optimizer;
    stage.policy.offload_activations = offloads_[offload].activations;
    return stage;
  }

  // The passes are the same for all stages.
  const BlockPasses& PassesWith(const Stage& like, int sharded, int offload) {
    std::optional<BlockPasses>& passes =
        passes_[sharded * offloads_.size() + offload];
    if (!passes) {
      passes = PassesOf(tuning_.hardware, tuning_.seconds.at(samples_),
                        tuning_.sizes, With(like, sharded, offload, 0));
    }
    return *passes;
  }

  PolicyFigures FiguresOf(int index, const Stage& stage,
                          const BlockPasses& passes) const {
    const StageFigures figures =
        Evaluate(tuning_.hardware, tuning_.seconds.at(samples_), tuning_.sizes,
                 stage, passes);
    return {.policy = {figures.steady_s, figures.extra_s},
            .fits = Fits(tuning_, figures, stage.policy, index, num_stages_)};
  }

  std::vector<Stage> StagesOf(const StagedPipeline& pipeline) {
    std::vector<Stage> stages;
    int begin = 0;
    for (const StageChoice& choice : pipeline.stages) {
      const int stage = static_cast<int>(stages.size());
      stages.push_back(
          tuned_[{stage, choice.end - begin}].stages[choice.policy]);
      begin = choice.end;
    }
    return stages;
  }

  const TuningCase& tuning_;
  absl::Span<const HostOffload> offloads_;
  int num_stages_;
  int stage_gpus_;
  int num_microbatches_;
  int samples_;
  std::vector<std::optional<BlockPasses>> passes_;  // By sharding and offload.
  std::map<std::pair<int, int>, Tuned> tuned_;      // By stage and its layers.
};

}  // namespace

bool Fits(const TuningCase& tuning, const StageFigures& figures,
          const Policy& policy, int stage, int num_stages) {
  return std::max(figures.forward_peak_mb, figures.backward_peak_mb) *
             MemoryFactor(policy, stage, num_stages) <=
         tuning.hardware.capacity_mb;
}

TunedPipeline Tune(const TuningCase& tuning) {
  const std::vector<HostOffload> offloads = Offloads(tuning);
  TunedPipeline best = {std::numeric_limits<double>::infinity(), {}};
  for (int microbatches = 1; microbatches <= tuning.global_batch;
       microbatches *= 2) {
    for (int stages = 1; stages <= tuning.num_gpus; ++stages) {
      if (tuning.num_gpus % stages != 0) continue;
      Tuner tuner(tuning, offloads, microbatches, stages);
      if (!tuner.IsPossible()) continue;
      TunedPipeline found = tuner.Run();
      if (found.iteration_s < best.iteration_s) best = std::move(found);
    }
  }
  return best;
}

double IterationSeconds(const TuningCase& tuning,
                        const std::vector<Stage>& stages) {
  double sum_s = 0;
  double slowest_s = 0;
  double exposed_s = 0;
  for (const Stage& stage : stages) {
    const StageFigures figures =
        Evaluate(tuning.hardware, tuning.seconds.at(stage.policy.samples),
                 tuning.sizes, stage);
    exposed_s = std::max(exposed_s, figures.extra_s - sum_s);
    slowest_s = std::max(slowest_s, figures.steady_s);
    sum_s += figures.steady_s;
  }
  return (stages[0].num_microbatches - 1) * slowest_s + sum_s + exposed_s;
}

}  // namespace tangram::mist::reference
