#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/args/command_line.h"
#include "cli/args/manual_page.h"
#include "cli/commands/commands.h"
#include "cli/files/output_files.h"
#include "common/base/status_macros.h"

namespace tangram {

CommandResult Run(const ManualOptions& options, Console& /*console*/) {
  OutputFiles files;
  for (ManualPage& page : ManualPages(DescribeCommandLine())) {
    files.Add(absl::StrCat(options.folder, "/", page.name, ".1"),
              std::move(page.text));
  }
  TANGRAM_RETURN_IF_ERROR(files.Write());
  return ExitCode::kOk;
}

}  // namespace tangram
