#include "cli/args/measurement_command_line.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "cli/args/option_checks.h"
#include "cli/args/shared_options.h"
#include "formats/export_profile/export_profile.h"

namespace tangram {
namespace {

std::string TargetNames(absl::Span<const ProfileTarget> targets) {
  return absl::StrJoin(targets, ", ",
                       [](std::string* out, const ProfileTarget& target) {
                         absl::StrAppend(out, target.name);
                       });
}

}  // namespace

void AddExportProfile(CLI::App& app, ExportProfileOptions& options) {
  app.add_option("--to", options.target,
                 absl::StrCat("Write for this planner: ",
                              TargetNames(ProfileTargets())))
      ->required()
      ->type_name("PLANNER");
  AddCluster(app, options.cluster, /*required=*/true);
  AddProfiles(app, options.cluster);
  AddModel(app, options.model, /*required=*/true);
  AddTraining(app, options.training, /*required=*/true);
  app.add_option("--max-tp", options.max_tp_degree,
                 "Write tensor-parallel degrees up to N, powers of two")
      ->capture_default_str()
      ->check(WholeNumber(1, 64, "1 to 64"))
      ->type_name("N");
  app.add_option("--max-samples", options.max_samples,
                 "Write microbatches of up to N samples, powers of two")
      ->capture_default_str()
      ->check(WholeNumber(1, 1024, "1 to 1024"))
      ->type_name("N");
  app.add_option("-o,--output", options.output_folder,
                 "Write the files into this folder; make it if it is missing")
      ->required()
      ->type_name("FOLDER");
}

void AddValidate(CLI::App& app, ValidateOptions& validate) {
  app.add_option("measurements", validate.files, "Files of measured runs")
      ->required()
      ->type_name("RUNS.csv");
  app.add_option("--profile", validate.profiles,
                 "Override the cost model with these measurements, one file "
                 "for each GPU type")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option("--cluster", validate.cluster_file,
                 "Describe GPUs and links by this cluster file where it has "
                 "the GPU type of a row")
      ->type_name("FILE");
  app.add_option("--calibrate", validate.calibration_rows,
                 "Fit the constants of each cluster to N of its rows and score "
                 "the others")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  app.add_option("--seed", validate.seed,
                 "Choose the rows to calibrate on with this seed")
      ->capture_default_str();
  app.add_flag("--include-flagged", validate.include_flagged,
               "Also score rows that their source marks as doubtful");
  AddMemoryMargin(app, validate.memory_margin);
  app.add_flag("--leave-one-source-out", validate.leave_one_source_out,
               "Fit constants and bands without the source that they are "
               "scored on");
  app.add_option("--worst", validate.worst_rows,
                 "List this many of the worst rows of each source")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--markdown", validate.markdown,
               "Print only the table of scores, as Markdown");
  app.add_option("-o,--output", validate.output_file,
                 "Write measured and predicted values of each row as CSV; to a "
                 "name that ends in .yaml, the fitted constants")
      ->type_name("FILE");
  app.add_option("--residuals", validate.residuals_file,
                 "Write the residuals of which bands are made as CSV")
      ->type_name("FILE");
}

}  // namespace tangram
