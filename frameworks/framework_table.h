#ifndef TANGRAM_FRAMEWORKS_FRAMEWORK_TABLE_H_
#define TANGRAM_FRAMEWORKS_FRAMEWORK_TABLE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/model_spec.h"
#include "common/domain/runtime.h"
#include "common/domain/training_options.h"
#include "frameworks/framework_export.h"

namespace tangram {

// A training framework: what it runs, how plans are searched for it, and how a
// plan becomes its files. A framework may lack each of the three.
struct Framework {
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
  using Write = absl::StatusOr<FrameworkExport>(const PlannedTraining& planned);
  using WritePipelines =
      absl::StatusOr<FrameworkExport>(const PlannedPipelines& planned);
  using Check = absl::Status(const ModelSpec& model,
                             const TrainingOptions& training);

  absl::string_view name;   // As on the command line.
  absl::string_view files;  // For people: what an export writes.
  Write* write = nullptr;   // Null: there is no export.
  // Null: it trains one pipeline.
  WritePipelines* write_pipelines = nullptr;
  bool refuses_all = false;  // The export says why it holds no plan.

  // Techniques that a stage may use. The export decides what it takes: FitPlan.
  Runtime runs;

  // Parallelizers, separated by commas, whose slice plans it runs best; for
  // models with experts, the second. Empty: planning knows no rules for it.
  absl::string_view parallelizers;
  absl::string_view moe_parallelizers;
  // All parallelizers, separated by commas, that may make plans that it runs.
  absl::string_view all_parallelizers;
  Shared shared = Shared::kNothing;
  EqualEnds equal_ends = EqualEnds::kNever;
  bool (*accepts_gpus)(int num_gpus) = nullptr;  // In all; null: any number.
  // Returns why it cannot run on such GPUs, or an empty text; null: it runs on
  // all.
  std::string (*why_not_device)(const DeviceSpec& device) = nullptr;
  bool reads_data = true;  // The user's; false: synthetic data alone.
  // Whether it trains models with Mamba layers, or with mixers and MLPs alone
  // in a layer. `check` says which.
  bool hybrids = false;
  bool latent_experts = false;  // It trains LayerSpec::expert_latent_size.
  Check* check = nullptr;       // Null: it trains all other models.
  // How it trains where it is asked to train so; null: as it is asked.
  TrainingOptions (*train)(TrainingOptions training) = nullptr;

  // Refuses layers of kinds that it lacks.
  absl::Status CheckLayers(const ModelSpec& model) const;

  // kInvalidArgument says why it does not train that model in that way.
  absl::Status CheckTraining(const ModelSpec& model,
                             const TrainingOptions& training) const;

  bool is_planned_for() const { return !parallelizers.empty(); }
};

// The one table of frameworks, in the order in which they are listed.
absl::Span<const Framework> Frameworks();

// Those that `tangram export` names, also to say why they hold no plan.
absl::Span<const Framework* const> ExportTargets();

// The field of requests that names a planning runtime, for errors.
inline constexpr char kRuntimeField[] = "constraints.runtime";

// Those that `tangram plan --runtime` names.
absl::Span<const Framework* const> PlanningRuntimes();

// Returns the one of `frameworks` that is called `name`. kInvalidArgument names
// `field` and `name` and lists the names of `frameworks`.
absl::StatusOr<const Framework*> FindFramework(
    absl::Span<const Framework* const> frameworks, absl::string_view field,
    absl::string_view name);

// "megatron, alpa": the names of `frameworks`, for help and errors.
std::string NamesOf(absl::Span<const Framework* const> frameworks);

// Returns the parallelizers, separated by commas, to use if none is named:
// those whose plans `framework` runs best. Null: for plans of any kind; Aceso
// for dense models and uniform for mixtures of experts, which Aceso does not
// support.
absl::string_view DefaultParallelizers(const ModelSpec& model,
                                       const Framework* framework);

// Those that run plans: slice plans of several parallelizers may be mixed where
// one of them runs them all.
absl::Span<const Runtime> KnownRuntimes();

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_FRAMEWORK_TABLE_H_
