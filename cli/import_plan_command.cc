#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/plan_files.h"
#include "cli/print_plan.h"
#include "cli/request.h"
#include "cli/table.h"
#include "common/base/status_macros.h"
#include "common/catalogue/models.h"
#include "common/config/model_file.h"
#include "common/config/text_file.h"
#include "common/frameworks/import_plan.h"

namespace tangram {
namespace {

// Cluster, model and training that the configuration belongs to.
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
  TANGRAM_ASSIGN_OR_RETURN(file.training, MakeTraining(options.training));
  if (file.training.sequence_length == 0) {
    file.training.sequence_length =
        BuiltinSequenceLength(options.model.name_or_file).value_or(0);
  }
  return file;
}

absl::StatusOr<std::vector<FrameworkFile>> ReadFiles(
    const std::vector<std::string>& paths) {
  std::vector<FrameworkFile> files;
  for (const std::string& path : paths) {
    TANGRAM_ASSIGN_OR_RETURN(std::string text, ReadConfigFile(path));
    TANGRAM_RETURN_IF_ERROR(CheckConfigText(text, path));
    files.push_back({path, std::move(text)});
  }
  return files;
}

}  // namespace

CommandResult Run(const ImportPlanOptions& options, Console& console) {
  const PlanOutputs outputs{.plan_file = options.output_file};
  TANGRAM_RETURN_IF_ERROR(CheckOutputs(outputs));
  TANGRAM_ASSIGN_OR_RETURN(const PlanFile frame, ReadFrame(options));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<FrameworkFile> files,
                           ReadFiles(options.files));
  TANGRAM_ASSIGN_OR_RETURN(
      ImportedPlan imported,
      ImportPlan(options.format, {.files = files,
                                  .cluster = frame.cluster,
                                  .model = frame.model,
                                  .training = frame.training}));
  PlanFile file{.cluster = frame.cluster,
                .model = frame.model,
                .training = imported.training};
  file.result.plan = std::move(imported.plan);
  file.result.notes = std::move(imported.notes);
  TANGRAM_RETURN_IF_ERROR(
      EvaluatePlanFile(options.files.front(), file, /*timeline=*/nullptr));
  TANGRAM_RETURN_IF_ERROR(WriteOutputs(outputs, file, {}, console.out));
  if (!IsStandardOutput(options.output_file)) {
    PrintPlanFile(file, console);
  }
  return file.result.evaluation.violations.empty() ? ExitCode::kOk
                                                   : ExitCode::kNoPlan;
}

}  // namespace tangram
