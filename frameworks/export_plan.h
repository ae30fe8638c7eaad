#ifndef TANGRAM_FRAMEWORKS_EXPORT_PLAN_H_
#define TANGRAM_FRAMEWORKS_EXPORT_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frameworks/framework_export.h"

namespace tangram {

// Returns the plan as files of the framework of that name (ExportTargets).
// kInvalidArgument, beginning with the name of the target and naming field,
// value and what was expected, for a plan that is not valid or that the
// framework would hang on or train wrongly. Settings may get lost, so callers
// ask before they write an export with losses.
absl::StatusOr<FrameworkExport> ExportPlan(absl::string_view target,
                                           const PlannedTraining& planned);

// A framework that runs a plan as it is.
struct PlanTaker {
  std::string framework;
  std::vector<std::string> losses;  // FrameworkExport::framework_losses.
  bool reads_data = true;           // The user's.
};

// Returns the planning runtimes that run the plan as it is: first those without
// a loss of their own, else in the order of the table.
std::vector<PlanTaker> TakersOf(const PlannedTraining& planned);

// Returns what to do about a plan that the target refuses: "plan with --runtime
// megatron". Empty if no plan of the model, the training and the cluster helps.
std::string WhatToDo(absl::string_view target, const PlannedTraining& planned);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_EXPORT_PLAN_H_
