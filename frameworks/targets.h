#ifndef TANGRAM_FRAMEWORKS_TARGETS_H_
#define TANGRAM_FRAMEWORKS_TARGETS_H_

#include "absl/status/statusor.h"
#include "frameworks/framework_export.h"
#include "frameworks/framework_import.h"

// One export_<framework>.cc or import_<framework>.cc each. The plan is a valid
// one (ValidatePlan). An export may be lossy; see ExportPlan.
namespace tangram {

absl::StatusOr<FrameworkExport> ExportToFlagScale(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToAceso(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToMegatron(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToGalvatron(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToSailor(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToFlashFlex(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToTorchTitan(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToAlpa(const PlannedTraining& in);
// These hold no plan of ours, and say why.
absl::StatusOr<FrameworkExport> ExportToDeepSpeed(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToNnScaler(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToNanotron(const PlannedTraining& in);

// What those refuse whatever the plan is: kInvalidArgument for a model or
// training that the framework does not know. FlagScale's is Megatron-LM's; Alpa
// knows all.
absl::Status CheckForAceso(const ModelSpec& model,
                           const TrainingOptions& training);
absl::Status CheckForMegatron(const ModelSpec& model,
                              const TrainingOptions& training);
absl::Status CheckForGalvatron(const ModelSpec& model,
                               const TrainingOptions& training);
absl::Status CheckForSailor(const ModelSpec& model,
                            const TrainingOptions& training);
absl::Status CheckForFlashFlex(const ModelSpec& model,
                               const TrainingOptions& training);
absl::Status CheckForTorchTitan(const ModelSpec& model,
                                const TrainingOptions& training);

// Whether FlexPipe can make its groups of so many ranks.
bool AcesoAcceptsGpus(int num_gpus);

// How the framework trains where it is asked to train as `training`. Those of
// Megatron-LM train as they are asked.
TrainingOptions TrainingUnderAceso(TrainingOptions training);
TrainingOptions TrainingUnderGalvatron(TrainingOptions training);
TrainingOptions TrainingUnderSailor(TrainingOptions training);
TrainingOptions TrainingUnderFlashFlex(TrainingOptions training);
TrainingOptions TrainingUnderTorchTitan(TrainingOptions training);
TrainingOptions TrainingUnderAlpa(TrainingOptions training);

absl::StatusOr<ImportedPlan> ImportFromFlagScale(const ImportRequest& request);
absl::StatusOr<ImportedPlan> ImportFromAceso(const ImportRequest& request);
absl::StatusOr<ImportedPlan> ImportFromMegatron(const ImportRequest& request);
absl::StatusOr<ImportedPlan> ImportFromGalvatron(const ImportRequest& request);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_TARGETS_H_
