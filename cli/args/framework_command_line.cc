#include "cli/args/framework_command_line.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frameworks/framework_table.h"
#include "frameworks/import_plan.h"

namespace tangram {
namespace {

template <typename Entries>
std::string Names(const Entries& entries) {
  return absl::StrJoin(entries, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.name);
  });
}

}  // namespace

void AddExport(CLI::App& app, ExportOptions& options) {
  app.add_option("plan", options.plan_file, "Plan file")
      ->required()
      ->type_name("PLAN.json");
  app.add_option(
         "--to", options.target,
         absl::StrCat("Write for this framework: ", NamesOf(ExportTargets())))
      ->required()
      ->type_name("FRAMEWORK");
  app.add_option("-o,--output", options.output_folder,
                 "Write the files into this folder; make it if it is missing "
                 "[print them]")
      ->type_name("FOLDER");
  app.add_flag("--allow-lossy", options.allow_lossy,
               "Write files even if the framework cannot hold all of the plan");
}

void AddDiff(CLI::App& app, DiffOptions& options) {
  app.add_option("plan", options.plan_file, "Plan file")
      ->required()
      ->type_name("PLAN.json");
  app.add_option("other", options.other_files,
                 "Other plan file; with --from, a framework's configuration "
                 "and host file")
      ->required()
      ->type_name("OTHER.json");
  app.add_option("--from", options.format,
                 absl::StrCat("Compare with files of this framework: ",
                              Names(PlanFormats())))
      ->type_name("FRAMEWORK");
}

void AddImportPlan(CLI::App& app, ImportPlanOptions& options) {
  app.add_option(
         "--from", options.format,
         absl::StrCat("Read files of this framework: ", Names(PlanFormats())))
      ->required()
      ->type_name("FRAMEWORK");
  app.add_option("files", options.files,
                 "Configuration, and a host file that names the GPUs")
      ->required()
      ->type_name("FILE");
  app.add_option("-o,--output", options.output_file,
                 "Write the plan as JSON; -: to standard output [-]")
      ->type_name("FILE");
  app.add_option("--like", options.like_file,
                 "Take cluster, model and training from this plan, not from "
                 "--cluster, --model")
      ->type_name("PLAN.json");
}

}  // namespace tangram
