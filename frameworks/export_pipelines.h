#ifndef TANGRAM_FRAMEWORKS_EXPORT_PIPELINES_H_
#define TANGRAM_FRAMEWORKS_EXPORT_PIPELINES_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frameworks/framework_export.h"

namespace tangram {

// The same as ExportPlan for a plan of several pipelines. kUnimplemented for a
// target that trains one, and for a plan of one, which ExportPlan takes.
absl::StatusOr<FrameworkExport> ExportPipelines(
    absl::string_view target, const PlannedPipelines& planned);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_EXPORT_PIPELINES_H_
