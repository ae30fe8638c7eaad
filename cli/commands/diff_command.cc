#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/files/framework_files.h"
#include "cli/files/plan_files.h"
#include "cli/print/print_diff.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

absl::StatusOr<PlanFile> ReadOther(const DiffOptions& options,
                                   const PlanFile& plan) {
  if (!options.format.empty()) {
    return ReadFrameworkPlan(options.format, options.other_files, plan);
  }
  if (options.other_files.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.other_files[1],
                     ": unknown argument; expected one plan to compare with, "
                     "or --from with files of a framework"));
  }
  return ReadAndEvaluate(options.other_files.front());
}

}  // namespace

CommandResult Run(const DiffOptions& options, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(const PlanFile a,
                           ReadAndEvaluate(options.plan_file));
  TANGRAM_ASSIGN_OR_RETURN(const PlanFile b, ReadOther(options, a));
  const ComparedPlans plans{.name_a = options.plan_file,
                            .name_b = options.other_files.front(),
                            .a = a,
                            .b = b,
                            .diff = DiffPlans(a, b)};
  if (console.format == OutputFormat::kJson) {
    PrintDiffAsJson(plans, console);
  } else {
    PrintDiff(plans, console);
  }
  return plans.diff.same() ? ExitCode::kOk : ExitCode::kPlansDiffer;
}

}  // namespace tangram
