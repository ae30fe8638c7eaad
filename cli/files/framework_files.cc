#include "cli/files/framework_files.h"

#include <utility>

#include "cli/files/plan_files.h"
#include "common/base/status_macros.h"
#include "formats/config/text_file.h"
#include "frameworks/import_plan.h"

namespace tangram {
namespace {

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

absl::StatusOr<PlanFile> ReadFrameworkPlan(
    const std::string& format, const std::vector<std::string>& paths,
    const PlanFile& frame, int usual_sequence_length) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<FrameworkFile> files,
                           ReadFiles(paths));
  TANGRAM_ASSIGN_OR_RETURN(
      ImportedPlan imported,
      ImportPlan(format, {.files = files,
                          .cluster = frame.cluster,
                          .model = frame.model,
                          .training = frame.training,
                          .usual_sequence_length = usual_sequence_length}));
  PlanFile file{.cluster = frame.cluster,
                .model = frame.model,
                .training = imported.training};
  file.result.plan = std::move(imported.plan);
  file.result.notes = std::move(imported.notes);
  TANGRAM_RETURN_IF_ERROR(
      EvaluatePlanFile(paths.front(), file, /*timeline=*/nullptr));
  return file;
}

}  // namespace tangram
