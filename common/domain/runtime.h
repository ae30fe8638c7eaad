#ifndef TANGRAM_COMMON_DOMAIN_RUNTIME_H_
#define TANGRAM_COMMON_DOMAIN_RUNTIME_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// The techniques that a training framework supports beyond tp, dp and pp with
// separate degrees in every stage. Slice plans of several parallelizers may be
// mixed if one framework runs them all.
struct Runtime {
  // Where stages may begin and end.
  enum class Cuts {
    kLayers,     // Between layers.
    kResiduals,  // Also between attention and MLP: at residual cuts.
    kOperators,  // Between any operators.
  };
  // The operators that may be recomputed.
  enum class Recompute {
    kLayers,     // The attention core or whole layers.
    kClosed,     // Any closed segments (CloseSegments).
    kOperators,  // Any operators.
  };

  absl::string_view name;  // "Megatron-LM"
  Cuts cuts = Cuts::kLayers;
  Recompute recompute = Recompute::kLayers;
  bool sequence_parallel = false;  // Megatron's, for norms and residuals.
  bool context_parallel = false;
  bool expert_parallel = false;
  bool sharded_experts = false;  // StageParallelism::fsep.
  int max_zero_stage = 0;
  bool zero_degrees = false;  // StageParallelism::zero_degree.
  bool offload = false;       // To host memory.
  // Runs PipelineSchedule::kGpipe beside 1F1B, or kInterleaved. None runs
  // ZB-H1, nor warm-up passes that a plan sets.
  bool gpipe = false;
  bool interleaved = false;
};

// Returns whether `a` runs all stages that `b` runs.
bool Covers(const Runtime& a, const Runtime& b);

// Returns why `runtime` cannot run `stage`: "a stage that begins inside a
// layer". Empty if it can. The stage's layers count from the start of `runs`.
absl::string_view WhyNotRunnable(const Runtime& runtime, const StagePlan& stage,
                                 absl::Span<const LayerRun> runs);

// Returns why `runtime` cannot run the stages of `plan` in their order of
// passes: "the schedule zb-h1". Empty if it can.
absl::string_view WhyNotScheduled(const Runtime& runtime,
                                  const PipelinePlan& plan);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_RUNTIME_H_
