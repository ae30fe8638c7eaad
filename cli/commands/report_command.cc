#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/files/plan_files.h"
#include "common/base/status_macros.h"
#include "web/view/report.h"

namespace tangram {
namespace {

std::string FileName(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

absl::StatusOr<ReportedPlan> ReadReported(const std::string& path) {
  ReportedPlan reported{.name = FileName(path)};
  TANGRAM_ASSIGN_OR_RETURN(reported.file,
                           ReadAndEvaluate(path, &reported.timeline));
  return reported;
}

}  // namespace

CommandResult Run(const ReportOptions& options, Console& console) {
  const bool to_standard_output = IsStandardOutput(options.output_file);
  if (!to_standard_output) {
    TANGRAM_RETURN_IF_ERROR(CheckWritable(options.output_file));
  }
  std::vector<ReportedPlan> plans;
  for (const std::string& path : options.plan_files) {
    TANGRAM_ASSIGN_OR_RETURN(plans.emplace_back(), ReadReported(path));
  }
  std::string page = ReportPage(plans);
  if (to_standard_output) {
    console.out << page;
    return ExitCode::kOk;
  }
  OutputFiles files;
  files.Add(options.output_file, std::move(page));
  TANGRAM_RETURN_IF_ERROR(files.Write());
  return ExitCode::kOk;
}

}  // namespace tangram
