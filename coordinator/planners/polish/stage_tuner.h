#ifndef TANGRAM_COORDINATOR_PLANNERS_POLISH_STAGE_TUNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_POLISH_STAGE_TUNER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "common/domain/device.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/stage_plan.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "common/sim/memory_holding.h"
#include "common/sim/stage_estimator.h"

namespace tangram {

// The time and the memory of a stage also depend on these.
struct StageSetting {
  int microbatch_size = 0;
  int num_microbatches = 0;
  HeldMicrobatches held;
  // The bytes that other stages on the same GPUs hold there and on the host,
  // and the largest buffer that one of them needs for a pass.
  double taken_bytes = 0;
  double taken_host_bytes = 0;
  double taken_transient_bytes = 0;
  // Time for a microbatch, and for the synchronisation and optimizer step,
  // within which the stage delays nothing.
  double free_pass_s = 0;
  double free_tail_s = 0;

  bool operator==(const StageSetting&) const = default;
};

// Chooses how a stage fits in its memory for the least time: what it
// recomputes, keeps on the host and shards. The time is what the stage adds to
// an iteration of B microbatches, by f + b for a microbatch and a tail after
// its last pass:
//   B max(f + b, free_pass) + max(0, sync + optimizer - free_tail).
// Layers, GPUs and degrees stay. Deterministic, thread-compatible.
class StageTuner {
 public:
  // Stages may recompute what those of `plan` do, whole layers and attention
  // cores, as far as the rules allow. All must outlive the tuner.
  StageTuner(const PlanRequest& request, const PipelineRules& rules,
             const PipelinePlan& plan, StageEstimator& estimator);

  // Lets the stage recompute no more than it must. Its layers have at most
  // three ways to recompute, in order from most to least. Returns false, and
  // leaves the stage as it is, if it does not fit anyway.
  bool FitRecompute(const StageSetting& setting, PlacedStage& stage);

  // Likewise, and tries other shares of state and activations on the host, and
  // other stages of ZeRO, one after another while that helps.
  bool Tune(const StageSetting& setting, PlacedStage& stage);

  // Lets the stage recompute so that it holds the least. It may not fit.
  void RecomputeMost(const StageSetting& setting, PlacedStage& stage);

  // Returns the stages whose cost was looked up so far, or would have been
  // without the results that are kept.
  int64_t num_estimated() const { return num_estimated_; }

 private:
  // A way to recompute a layer: a mask for each run of equal layers.
  using Choice = std::vector<OpMask>;

  // A stage to be made to fit, with all that decides how.
  struct Question {
    bool tunes = false;
    const DeviceSpec* device = nullptr;  // Unlike for other GPUs.
    StageSetting setting;
    StagePlan stage;          // Without recomputation,
    bool recomputes = false;  // except for this.

    bool operator==(const Question&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Question& question) {
      const StagePlan& asked = question.stage;
      const StageParallelism& p = asked.parallelism;
      return H::combine(std::move(h), question.tunes, question.device,
                        question.setting.held.all, question.setting.free_pass_s,
                        asked.begin.layer, asked.begin.op, asked.end.layer,
                        asked.end.op, p.tp_degree, p.cp_degree, p.dp_degree,
                        p.zero_stage, p.zero_degree);
    }
  };
  struct Answer {
    bool fits = false;
    StagePlan stage;
    int64_t num_estimated = 0;
  };

  // The cost of a stage as it was tried.
  struct Tried {
    double seconds = 0;
    bool fits = false;
    double peak_bytes = 0;
  };

  // Lets `fit` answer, unless the question was asked before: stages recur in
  // many plans.
  bool Ask(bool tunes, const StageSetting& setting, PlacedStage& stage,
           absl::FunctionRef<bool()> fit);
  bool TuneAnew(const StageSetting& setting, PlacedStage& stage);
  void AddChoice(Choice choice);
  std::vector<const Choice*> AllowedChoices(const StagePlan& stage) const;
  bool IsAllowed(const StagePlan& stage) const;
  // Lets the first `num_heavy` layers of the stage recompute by `heavy`, the
  // next one by `odd` and the others by `light`.
  void SetRecompute(int num_heavy, const Choice& heavy, const Choice& odd,
                    const Choice& light, StagePlan& stage) const;
  Tried Try(const StageSetting& setting, const PlacedStage& stage);
  // Fit, and returns the seconds of the stage; infinite: it does not fit.
  double Fit(const StageSetting& setting, PlacedStage& stage);
  std::vector<StagePlan> Variations(const PlacedStage& placed);

  const PipelineRules& rules_;
  const StageLimits limits_;  // The rules and the request set them.
  StageEstimator& estimator_;
  const std::vector<LayerRun>& runs_;
  std::vector<int> run_of_layer_;
  std::vector<Choice> choices_;
  absl::flat_hash_map<Question, Answer> answers_;
  int64_t num_estimated_ = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_POLISH_STAGE_TUNER_H_
