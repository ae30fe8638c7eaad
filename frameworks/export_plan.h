#ifndef TANGRAM_FRAMEWORKS_EXPORT_PLAN_H_
#define TANGRAM_FRAMEWORKS_EXPORT_PLAN_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frameworks/framework_export.h"

namespace tangram {

struct ExportTarget {
  absl::string_view name;  // As on the command line.
  absl::string_view what;  // For people: what is written.
  absl::StatusOr<FrameworkExport> (*write)(const PlannedTraining& planned);
};

absl::Span<const ExportTarget> ExportTargets();

// The plan as files of a framework. kInvalidArgument, beginning with the name
// of the target and naming field, value and what was expected, for a plan that
// is not valid or that the framework would hang on or train wrongly. Something
// may be lost: callers ask before they write an export with losses.
absl::StatusOr<FrameworkExport> ExportPlan(absl::string_view target,
                                           const PlannedTraining& planned);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_EXPORT_PLAN_H_
