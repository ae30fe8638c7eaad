#ifndef TANGRAM_COMMON_DOMAIN_RUNTIME_H_
#define TANGRAM_COMMON_DOMAIN_RUNTIME_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// What a training framework can run, beyond tp, dp and pp with their own
// degrees in every stage. Slice plans of several parallelizers may be mixed
// where one framework runs them all.
struct Runtime {
  absl::string_view name;           // "Megatron-LM"
  bool operator_cuts = false;       // Stages that begin or end inside a layer.
  bool operator_recompute = false;  // Any operators, not just the attention
                                    // core or whole layers.
  bool sequence_parallel = false;   // Megatron's, of norms and residuals.
  bool context_parallel = false;
  bool expert_parallel = false;
  bool sharded_experts = false;  // StageParallelism::fsep.
  int max_zero_stage = 0;
  bool offload = false;  // To host memory.
};

// Whether `a` runs all that `b` runs.
bool Covers(const Runtime& a, const Runtime& b);

// Why `runtime` cannot run `stage`, whose layers count from the start of
// `runs`: "a stage that begins inside a layer". Empty if it can.
absl::string_view WhyNotRunnable(const Runtime& runtime, const StagePlan& stage,
                                 absl::Span<const LayerRun> runs);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_RUNTIME_H_
