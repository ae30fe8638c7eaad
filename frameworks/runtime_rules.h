#ifndef TANGRAM_FRAMEWORKS_RUNTIME_RULES_H_
#define TANGRAM_FRAMEWORKS_RUNTIME_RULES_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/island.h"
#include "common/domain/runtime.h"
#include "common/domain/stage_limits.h"
#include "frameworks/framework_export.h"

namespace tangram {

// What planning for a framework looks for. None of it decides what the
// framework takes: that is its export's, see FitPlan.
struct RuntimeRules {
  // What all stages must have in common. A search for each value of it finds
  // the best plan.
  enum class Shared { kNothing, kCp, kDp, kGpus, kTpAndDp, kGpusPerNode };
  // Where the first and the last stage must have one tp.
  enum class EqualEnds { kNever, kTiedEmbeddings, kAlways };

  absl::string_view name;  // Of its export.
  // Names separated by commas: whose slice plans it can run best.
  absl::string_view parallelizers;
  absl::string_view moe_parallelizers;
  Runtime stage;       // What a stage may be,
  StageLimits limits;  // and this besides.
  Shared shared = Shared::kNothing;
  EqualEnds equal_ends = EqualEnds::kNever;
  bool (*accepts_gpus)(int num_gpus) = nullptr;  // In all; null: any number.
  // Null: knows every model; trains as it is asked.
  absl::Status (*check)(const ModelSpec& model,
                        const TrainingOptions& training) = nullptr;
  TrainingOptions (*train)(TrainingOptions training) = nullptr;
};

absl::Span<const RuntimeRules> AllRuntimeRules();

// kInvalidArgument naming `name` and the runtimes there are.
absl::StatusOr<const RuntimeRules*> FindRuntimeRules(absl::string_view name);

// Limits under which one search looks for plans: those of all stages, those of
// the slices that hold the first or the last layer, and which islands may be
// used by the GPUs of their nodes (0: any).
struct RuntimeVariant {
  StageLimits stages;
  StageLimits ends;
  int gpus_per_node = 0;
};

// One for each value of what stages must share that some island can have. A tp
// degree is a power of two or one of `more_tp`.
std::vector<RuntimeVariant> VariantsOf(const RuntimeRules& rules,
                                       const ModelSpec& model,
                                       const TrainingOptions& training,
                                       absl::Span<const IslandSpec> islands,
                                       absl::Span<const int> more_tp);

// What the framework runs of the plan, as its export has it: the plan that it
// returns is exported without losses but of the training. Otherwise the
// export's refusal, or kInvalidArgument with a loss that stays.
absl::StatusOr<PipelinePlan> FitPlan(const RuntimeRules& rules,
                                     const PlannedTraining& planned);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_RUNTIME_RULES_H_
