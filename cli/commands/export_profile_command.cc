#include <string>

#include "absl/strings/str_cat.h"
#include "cli/args/request.h"
#include "cli/commands/commands.h"
#include "cli/files/output_files.h"
#include "cli/print/done_json.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "common/base/status_macros.h"
#include "formats/export_profile/export_profile.h"

namespace tangram {
CommandResult Run(const ExportProfileOptions& options, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(const PlanRequest request,
                           MakePlanRequest({.cluster = options.cluster,
                                            .model = options.model,
                                            .training = options.training}));
  const LayerProfiles profiles =
      ProfileLayers(request.model, request.cluster, request.training,
                    {.max_tp_degree = options.max_tp_degree,
                     .max_samples = options.max_samples});
  TANGRAM_ASSIGN_OR_RETURN(
      const ProfileExport exported,
      ExportProfile(options.target, {.model = request.model,
                                     .cluster = request.cluster,
                                     .training = request.training,
                                     .profiles = profiles}));
  OutputFiles files;
  for (const ProfileFile& file : exported.files) {
    TANGRAM_RETURN_IF_ERROR(MakeFoldersFor(options.output_folder, file.name));
    files.Add(absl::StrCat(options.output_folder, "/", file.name), file.text);
  }
  TANGRAM_RETURN_IF_ERROR(files.Write());
  const int count = static_cast<int>(exported.files.size());
  if (console.format == OutputFormat::kJson) {
    DoneAnswer answer{.done = "written",
                      .what = "file",
                      .count = count,
                      .notes = exported.notes};
    for (const ProfileFile& file : exported.files) {
      answer.names.push_back(
          absl::StrCat(options.output_folder, "/", file.name));
    }
    PrintDoneAsJson(answer, console);
    return ExitCode::kOk;
  }
  console.out << "wrote " << FormatItems(count, "file") << " into "
              << options.output_folder << "\n";
  for (const std::string& note : exported.notes) {
    console.out << WrapText(note, /*indent=*/2, console.width);
  }
  return ExitCode::kOk;
}

}  // namespace tangram
