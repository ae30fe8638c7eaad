#include "cli/commands/commands.h"
#include "common/obs/build_info.h"
#include "common/wire/plan_file.h"

namespace tangram {

CommandResult Run(const VersionOptions& /*options*/, Console& console) {
  console.out << "tangram " << Version() << ", plan files " << kPlanFileFormat
              << "\n";
  return ExitCode::kOk;
}

}  // namespace tangram
