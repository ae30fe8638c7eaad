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

// Restrictions that make a search find plans that a framework can run. They
// narrow the search only: the framework's export decides what it accepts, see
// FitPlan.
struct RuntimeRules {
  // A property that all stages must have in common. One search for each of its
  // values finds the best plan.
  enum class Shared {
    kNothing,      // Stages are independent.
    kCp,           // cp degree.
    kDp,           // dp degree.
    kGpus,         // Number of GPUs.
    kTpAndDp,      // tp and dp degree.
    kGpusPerNode,  // GPUs in a node of the stage's island.
  };
  // Whether the first and the last stage must have the same tp.
  enum class EqualEnds {
    kNever,           // They may differ.
    kTiedEmbeddings,  // Only if the model ties embedding and head.
    kAlways,          // For every model.
  };

  absl::string_view name;  // Name of its export target.
  // Names, separated by commas, of the parallelizers whose slice plans it can
  // run best, for dense models and for models with experts.
  absl::string_view parallelizers;
  absl::string_view moe_parallelizers;
  Runtime stage;       // Techniques that a stage may use.
  StageLimits limits;  // Further limits on all stages.
  Shared shared = Shared::kNothing;
  EqualEnds equal_ends = EqualEnds::kNever;
  bool (*accepts_gpus)(int num_gpus) = nullptr;  // GPUs of the plan; null: any.
  // Checks the model; null: knows every model. Adapts the training; null:
  // trains as asked.
  absl::Status (*check)(const ModelSpec& model,
                        const TrainingOptions& training) = nullptr;
  TrainingOptions (*train)(TrainingOptions training) = nullptr;
};

// Returns the rules of all frameworks, in the order of ExportTargets.
absl::Span<const RuntimeRules> AllRuntimeRules();

// kInvalidArgument names `name` and lists the runtimes.
absl::StatusOr<const RuntimeRules*> FindRuntimeRules(absl::string_view name);

// Limits of one search.
struct RuntimeVariant {
  StageLimits stages;     // Limits on all stages.
  StageLimits ends;       // Limits on slices with the first or last layer.
  int gpus_per_node = 0;  // Only islands with such nodes; 0: any.
};

// Returns a variant for each value of what stages share that is possible on
// some island. A tp degree is a power of two or one of `more_tp`.
std::vector<RuntimeVariant> VariantsOf(const RuntimeRules& rules,
                                       const ModelSpec& model,
                                       const TrainingOptions& training,
                                       absl::Span<const IslandSpec> islands,
                                       absl::Span<const int> more_tp);

// Returns the plan that the framework runs for `planned`, according to its
// export. Exporting the result has no losses except those of the training.
// Otherwise returns the export's refusal, or kInvalidArgument with a loss that
// remains.
absl::StatusOr<PipelinePlan> FitPlan(const RuntimeRules& rules,
                                     const PlannedTraining& planned);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_RUNTIME_RULES_H_
