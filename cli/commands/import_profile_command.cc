#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/files/input_file.h"
#include "cli/files/output_files.h"
#include "cli/files/plan_files.h"
#include "cli/print/answer_json.h"
#include "cli/print/table.h"
#include "common/base/status_macros.h"
#include "formats/config/model_file.h"
#include "formats/config/profile_file.h"
#include "formats/config/text_file.h"
#include "formats/config/training_names.h"
#include "formats/import_profile/import_profile.h"

namespace tangram {
namespace {

absl::StatusOr<std::vector<ImportedFile>> ReadFiles(
    const std::vector<std::string>& paths) {
  std::vector<ImportedFile> files;
  for (const std::string& path : paths) {
    TANGRAM_ASSIGN_OR_RETURN(std::string text,
                             ReadInputFile(path, kMaxConfigBytes));
    files.push_back({path, std::move(text)});
  }
  return files;
}

absl::StatusOr<ImportOptions> MakeOptions(const ImportProfileOptions& given) {
  ImportOptions options = {.device = given.device,
                           .sequence_length = given.sequence_length};
  if (!given.model.name_or_file.empty()) {
    TANGRAM_ASSIGN_OR_RETURN(options.model,
                             LoadModel(given.model.name_or_file, {}));
  }
  if (!given.precision.empty()) {
    TANGRAM_ASSIGN_OR_RETURN(options.precision,
                             ParsePrecision(given.precision));
  }
  return options;
}

void PrintNotes(const std::vector<std::string>& notes, int width,
                std::ostream& out) {
  for (const std::string& note : notes) {
    out << WrapText(note, /*indent=*/2, width);
  }
}

}  // namespace

CommandResult Run(const ImportProfileOptions& options, Console& console) {
  const bool to_standard_output = IsStandardOutput(options.output_file);
  if (!to_standard_output) {
    TANGRAM_RETURN_IF_ERROR(CheckWritable(options.output_file));
  }
  TANGRAM_ASSIGN_OR_RETURN(const ImportOptions import_options,
                           MakeOptions(options));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ImportedFile> files,
                           ReadFiles(options.files));
  TANGRAM_ASSIGN_OR_RETURN(
      const ImportResult result,
      ImportProfile(options.format, files, import_options));
  const std::string json = ProfileToJson(result.profile);
  OutputFiles output;
  if (!to_standard_output) output.Add(options.output_file, json);
  TANGRAM_RETURN_IF_ERROR(output.Write());
  if (console.format == OutputFormat::kJson) {
    nlohmann::ordered_json answer = {
        {"format_version", "tangram.import_profile/v1"},
        {"device", result.profile.device},
        {"layers", result.profile.entries.size()},
        {"collectives", result.profile.collectives.size()},
        {"links", result.profile.links.size()},
        {"notes", result.notes}};
    if (to_standard_output) answer["file"] = json;
    PrintJson(answer, console);
    return ExitCode::kOk;
  }
  if (to_standard_output) {
    console.out << json;
    PrintNotes(result.notes, console.width, console.err);
    return ExitCode::kOk;
  }
  console.out << result.profile.device << ": " << result.profile.entries.size()
              << " layers and operators, " << result.profile.collectives.size()
              << " collectives and transfers, " << result.profile.links.size()
              << " links\n";
  PrintNotes(result.notes, console.width, console.out);
  return ExitCode::kOk;
}

}  // namespace tangram
