#ifndef TANGRAM_FRAMEWORKS_IMPORT_PLAN_H_
#define TANGRAM_FRAMEWORKS_IMPORT_PLAN_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frameworks/framework_import.h"

namespace tangram {

// A format that plans can be imported from.
struct PlanFormat {
  absl::string_view name;  // Name on the command line.
  absl::string_view what;  // Description of the files, for people.
  absl::StatusOr<ImportedPlan> (*read)(const ImportRequest& request);
};

// Returns all formats, in the order in which they are listed to users.
absl::Span<const PlanFormat> PlanFormats();

// Returns the plan that files of a framework describe. kInvalidArgument names
// file, field, value and what was expected; also for a plan that is not valid
// (ValidatePlan).
absl::StatusOr<ImportedPlan> ImportPlan(absl::string_view format,
                                        const ImportRequest& request);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_IMPORT_PLAN_H_
