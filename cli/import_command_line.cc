#include "cli/import_command_line.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/import_profile/import_profile.h"

namespace tangram {
namespace {

std::string FormatNames() {
  return absl::StrJoin(ProfileFormats(), ", ",
                       [](std::string* out, const ProfileFormat& format) {
                         absl::StrAppend(out, format.name);
                       });
}

}  // namespace

void AddImportProfile(CLI::App& app, ImportProfileOptions& options) {
  app.add_option("--from", options.format,
                 absl::StrCat("Format of the files: ", FormatNames()))
      ->required()
      ->type_name("FORMAT");
  app.add_option("files", options.files, "Files of one GPU type")
      ->required()
      ->type_name("FILE");
  app.add_option("-o,--output", options.output_file,
                 "Write the profile as JSON; -: to standard output")
      ->required()
      ->type_name("FILE");
  app.add_option("--device", options.device,
                 "GPU type that was measured [as in the files]")
      ->type_name("GPU");
  app.add_option("--model", options.model.name_or_file,
                 "Model that was measured [as in the files]")
      ->type_name("NAME|FILE");
  app.add_option("--precision", options.precision,
                 "fp32, fp16, bf16 or fp8 [as in the files]");
  app.add_option_function<int>(
         "--seq", [&options](int length) { options.sequence_length = length; },
         "Tokens per sequence [as in the files]")
      ->check(CLI::PositiveNumber);
}

}  // namespace tangram
