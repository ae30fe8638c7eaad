#ifndef TANGRAM_FRAMEWORKS_IMPORT_PLAN_H_
#define TANGRAM_FRAMEWORKS_IMPORT_PLAN_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frameworks/framework_import.h"

namespace tangram {

struct PlanFormat {
  absl::string_view name;  // As on the command line.
  absl::string_view what;  // For people: which files.
  absl::StatusOr<ImportedPlan> (*read)(const ImportRequest& request);
};

absl::Span<const PlanFormat> PlanFormats();

// The plan that files of a framework describe. kInvalidArgument naming file,
// field, value and what was expected; also for a plan that is not valid
// (ValidatePlan).
absl::StatusOr<ImportedPlan> ImportPlan(absl::string_view format,
                                        const ImportRequest& request);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_IMPORT_PLAN_H_
