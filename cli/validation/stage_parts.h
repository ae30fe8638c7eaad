#ifndef TANGRAM_CLI_VALIDATION_STAGE_PARTS_H_
#define TANGRAM_CLI_VALIDATION_STAGE_PARTS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cli/validation/measured_run.h"
#include "cli/validation/run_stages.h"
#include "common/domain/limits.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"
#include "formats/config/config_field.h"

// The parts of StagesOfRun; for cli/validation only. Errors are those of
// StagesOfRun.
namespace tangram {

// Bounds degrees, layers and operators of published rows.
inline constexpr int kMaxDegree = kMaxGpus;

// Nothing, the attention core, or whole layers.
enum class Recompute { kNone, kSelective, kAll };

// Returns what the row states; kNone if it does not say.
Recompute RecomputeOf(const MeasuredRun& run);
// Returns what the row states, or else the habit of its framework.
StageParallelism ParallelismOf(const MeasuredRun& run);

// Shards over a part of dp if the row states one: "1 over 8", "FSDP group 8".
void ShardOverPart(const MeasuredRun& run, StageParallelism& parallelism);

// Turns one mask a layer into runs, joining equal neighbours.
std::vector<RecomputeRun> JoinMasks(absl::Span<const OpMask> masks);

// Makes a stage that recomputes the attention core of all its transformer
// layers, or the first `recomputed` of them whole.
RunStage MakeStage(const ModelSpec& model, OperatorCut begin, OperatorCut end,
                   const StageParallelism& parallelism, Recompute recompute,
                   int recomputed = kMaxDegree);

// Returns our masks for the `count` operators that Aceso recomputed in a stage
// with its operators [begin_op, begin_op + num_ops).
std::vector<RecomputeRun> AcesoRecompute(const ModelSpec& model,
                                         const StagePlan& stage,
                                         int sequence_length, int begin_op,
                                         int num_ops, int count);

// The error of a row with two statements that exclude each other.
absl::Status Contradiction(absl::string_view what);

// Reads plans as DeepSpeed's pipeline cuts them (AMP): layer indices between
// stages, and perhaps the nodes of the ranks.
absl::StatusOr<RunStages> DeepSpeedStages(const MeasuredRun& run,
                                          const ModelSpec& model,
                                          const ConfigField& root,
                                          const ConfigField& boundaries);

// Reads plans as a list of stages: Sailor's with replicas, Aceso's with
// operators, Mist's with layers.
absl::StatusOr<RunStages> ListedStages(const MeasuredRun& run,
                                       const ModelSpec& model,
                                       const ConfigField& list);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_STAGE_PARTS_H_
