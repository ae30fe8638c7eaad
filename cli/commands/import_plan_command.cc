#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/args/request.h"
#include "cli/commands/answer.h"
#include "cli/commands/commands.h"
#include "cli/files/framework_files.h"
#include "cli/files/plan_files.h"
#include "cli/print/print_plan.h"
#include "common/base/status_macros.h"
#include "formats/catalogue/models.h"
#include "formats/config/model_file.h"

namespace tangram {
namespace {

// Returns a plan file that holds the cluster, model and training which the
// configuration belongs to, and no plan.
absl::StatusOr<PlanFile> ReadFrame(const ImportPlanOptions& options) {
  if (!options.like_file.empty()) return ReadPlanFile(options.like_file);
  if (options.cluster.file.empty() || options.model.name_or_file.empty()) {
    return absl::InvalidArgumentError(
        "--like: missing; expected it, or --cluster and --model");
  }
  PlanFile file;
  TANGRAM_ASSIGN_OR_RETURN(file.cluster, LoadCluster(options.cluster));
  TANGRAM_ASSIGN_OR_RETURN(
      file.model,
      LoadModel(options.model.name_or_file,
                ModelOverrides{.num_layers = options.model.num_layers}));
  TANGRAM_ASSIGN_OR_RETURN(
      file.training, MakeTraining(options.training, file.model, file.cluster));
  return file;
}

}  // namespace

CommandResult Run(const ImportPlanOptions& options, Console& console) {
  const PlanOutputs outputs{.plan_file = options.output_file};
  TANGRAM_RETURN_IF_ERROR(CheckOutputs(outputs));
  TANGRAM_ASSIGN_OR_RETURN(const PlanFile frame, ReadFrame(options));
  TANGRAM_ASSIGN_OR_RETURN(
      const PlanFile file,
      ReadFrameworkPlan(
          options.format, options.files, frame,
          BuiltinSequenceLength(options.model.name_or_file).value_or(0)));
  TANGRAM_RETURN_IF_ERROR(WriteOutputs(outputs, file, {}, console.out));
  if (!IsStandardOutput(options.output_file)) {
    TANGRAM_RETURN_IF_ERROR(
        PrintAnswerOf(file, AnswerChoice(), options.output_file, console));
  }
  return file.result.evaluation.violations.empty() ? ExitCode::kOk
                                                   : ExitCode::kNoPlan;
}

}  // namespace tangram
