#ifndef TANGRAM_COMMON_FRAMEWORKS_TARGETS_H_
#define TANGRAM_COMMON_FRAMEWORKS_TARGETS_H_

#include "absl/status/statusor.h"
#include "common/frameworks/framework_export.h"
#include "common/frameworks/framework_import.h"

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

absl::StatusOr<ImportedPlan> ImportFromFlagScale(const ImportRequest& request);
absl::StatusOr<ImportedPlan> ImportFromAceso(const ImportRequest& request);
absl::StatusOr<ImportedPlan> ImportFromMegatron(const ImportRequest& request);
absl::StatusOr<ImportedPlan> ImportFromGalvatron(const ImportRequest& request);

}  // namespace tangram

#endif  // TANGRAM_COMMON_FRAMEWORKS_TARGETS_H_
