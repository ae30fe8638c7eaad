#ifndef TANGRAM_CLI_VALIDATION_STAGE_PARTS_H_
#define TANGRAM_CLI_VALIDATION_STAGE_PARTS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cli/validation/measured_run.h"
#include "cli/validation/run_stages.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"
#include "formats/config/config_field.h"

// What StagesOfRun is made of; inside cli/validation only. Errors as there.
namespace tangram {

inline constexpr int kMaxDegree = 1 << 20;

enum class Recompute { kNone, kSelective, kAll };

// What the row says; nothing said is none.
Recompute RecomputeOf(const MeasuredRun& run);
// What the row says, or else its framework's habit.
StageParallelism ParallelismOf(const MeasuredRun& run);

// One mask a layer, equal neighbours joined.
std::vector<RecomputeRun> JoinMasks(absl::Span<const OpMask> masks);

// A stage that recomputes the attention core of all its transformer layers, or
// the first `recomputed` of them whole.
RunStage MakeStage(const ModelSpec& model, OperatorCut begin, OperatorCut end,
                   const StageParallelism& parallelism, Recompute recompute,
                   int recomputed = kMaxDegree);

// The `count` operators that Aceso recomputed of a stage that holds its
// operators [begin_op, begin_op + num_ops), as masks of ours.
std::vector<RecomputeRun> AcesoRecompute(const ModelSpec& model,
                                         const StagePlan& stage,
                                         int sequence_length, int begin_op,
                                         int num_ops, int count);

// The row says two things that exclude each other.
absl::Status Contradiction(absl::string_view what);

// Plans as DeepSpeed's pipeline cuts them (AMP): layer indices between stages,
// and perhaps the nodes that the ranks lie on.
absl::StatusOr<RunStages> DeepSpeedStages(const MeasuredRun& run,
                                          const ModelSpec& model,
                                          const ConfigField& root,
                                          const ConfigField& boundaries);

// Plans as a list of stages: Sailor's with replicas, Aceso's with operators,
// Mist's with layers.
absl::StatusOr<RunStages> ListedStages(const MeasuredRun& run,
                                       const ModelSpec& model,
                                       const ConfigField& list);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_STAGE_PARTS_H_
