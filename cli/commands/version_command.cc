#include <string>

#include "cli/commands/commands.h"
#include "cli/print/answer_json.h"
#include "common/obs/build_info.h"
#include "common/wire/plan_file.h"

namespace tangram {

CommandResult Run(const VersionOptions& /*options*/, Console& console) {
  if (console.format == OutputFormat::kJson) {
    PrintJson({{"format_version", "tangram.version/v1"},
               {"version", std::string(Version())},
               {"plan_files", kPlanFileFormat}},
              console);
    return ExitCode::kOk;
  }
  console.out << "tangram " << Version() << ", plan files " << kPlanFileFormat
              << "\n";
  return ExitCode::kOk;
}

}  // namespace tangram
