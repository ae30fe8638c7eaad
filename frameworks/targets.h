#ifndef TANGRAM_FRAMEWORKS_TARGETS_H_
#define TANGRAM_FRAMEWORKS_TARGETS_H_

#include <string>

#include "absl/status/statusor.h"
#include "frameworks/framework_export.h"
#include "frameworks/framework_import.h"

// The exports and imports, one export_<framework>.cc or import_<framework>.cc
// each. They expect a valid plan (ValidatePlan). An export may be lossy; see
// ExportPlan.
namespace tangram {

absl::StatusOr<FrameworkExport> ExportToFlagScale(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToAceso(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToMegatron(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToGalvatron(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToSailor(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToFlashFlex(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportPipelinesToFlashFlex(
    const PlannedPipelines& in);
absl::StatusOr<FrameworkExport> ExportToTorchTitan(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToAlpa(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToHetu(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportPipelinesToHetu(
    const PlannedPipelines& in);
// These frameworks cannot hold a plan of ours; the error says why.
absl::StatusOr<FrameworkExport> ExportToDeepSpeed(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToNnScaler(const PlannedTraining& in);
absl::StatusOr<FrameworkExport> ExportToNanotron(const PlannedTraining& in);

// Check what an export refuses for every plan: kInvalidArgument for a model or
// training that the framework does not support. FlagScale uses the check of
// Megatron-LM, and Alpa supports everything.
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
absl::Status CheckForHetu(const ModelSpec& model,
                          const TrainingOptions& training);

// Returns whether FlexPipe can make its groups with that many ranks.
bool AcesoAcceptsGpus(int num_gpus);

// Returns why Galvatron does not run on such GPUs. Empty: it does.
std::string WhyNotOnDeviceForGalvatron(const DeviceSpec& device);

// Returns why Hetu does not run on such GPUs. Empty: it does.
std::string WhyNotOnDeviceForHetu(const DeviceSpec& device);

// Return how the framework trains if asked to train as `training`. Megatron-LM
// and FlagScale train as asked.
TrainingOptions TrainingUnderAceso(TrainingOptions training);
TrainingOptions TrainingUnderGalvatron(TrainingOptions training);
TrainingOptions TrainingUnderSailor(TrainingOptions training);
TrainingOptions TrainingUnderFlashFlex(TrainingOptions training);
TrainingOptions TrainingUnderTorchTitan(TrainingOptions training);
TrainingOptions TrainingUnderAlpa(TrainingOptions training);
TrainingOptions TrainingUnderHetu(TrainingOptions training);

// Read a plan back; see ImportPlan.
absl::StatusOr<ImportedPlan> ImportFromFlagScale(const ImportRequest& request);
absl::StatusOr<ImportedPlan> ImportFromAceso(const ImportRequest& request);
absl::StatusOr<ImportedPlan> ImportFromMegatron(const ImportRequest& request);
absl::StatusOr<ImportedPlan> ImportFromGalvatron(const ImportRequest& request);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_TARGETS_H_
