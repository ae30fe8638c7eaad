#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/manual_page.h"
#include "cli/output_files.h"
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
