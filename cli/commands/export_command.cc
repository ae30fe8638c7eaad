#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/answer.h"
#include "cli/commands/commands.h"
#include "cli/files/output_files.h"
#include "cli/files/plan_files.h"
#include "cli/print/answer_json.h"
#include "cli/print/print_plan.h"
#include "cli/print/print_stages.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "common/base/status_macros.h"
#include "frameworks/export_pipelines.h"
#include "frameworks/export_plan.h"
#include "frameworks/framework_table.h"
#include "frameworks/rank_order.h"

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

absl::Status WriteFiles(const std::string& folder,
                        const std::vector<ExportedFile>& exported) {
  OutputFiles files;
  for (const ExportedFile& file : exported) {
    TANGRAM_RETURN_IF_ERROR(MakeFoldersFor(folder, file.name));
    files.Add(absl::StrCat(folder, "/", file.name), file.content,
              file.executable);
  }
  return files.Write();
}

void PrintList(const std::string& title, const std::vector<std::string>& lines,
               Console& console) {
  if (lines.empty()) return;
  console.out << title << "\n";
  for (const std::string& line : lines) {
    console.out << WrapText(line, /*indent=*/2, console.width);
  }
}

// Returns the time of the best plan for the target beside that of `result`, if
// planning found one: ": 29.5 s, 9 % longer".
std::string TimeOfPlanFor(const std::string& target, const PlanResult& result) {
  for (const PlanAlternative& other : result.alternatives) {
    if (other.runtime != target || !other.iteration_time_s) continue;
    return absl::StrCat(": ", FormatBeside(*other.iteration_time_s,
                                           result.evaluation.iteration_time_s));
  }
  return "";
}

PlannedTraining PlannedIn(const PlanFile& file) {
  return {.cluster = file.cluster,
          .model = file.model,
          .training = file.training,
          .plan = *file.result.plan};
}

// Returns what to do about a plan that the target refuses or changes: ask for
// another plan, or else for another framework.
std::string Advice(const std::string& target, const PlanFile& file) {
  const PlannedTraining planned = PlannedIn(file);
  if (const std::string advice = WhatToDo(target, planned); !advice.empty()) {
    return absl::StrCat(advice, TimeOfPlanFor(target, file.result));
  }
  const std::string others = absl::StrJoin(
      TakersOf(planned), " or ", [](std::string* out, const PlanTaker& taker) {
        absl::StrAppend(out, "--to ", taker.framework);
      });
  return others.empty() ? "plan with --runtime auto"
                        : absl::StrCat("export ", others);
}

absl::Status RequireHostNames(const PlanFile& file) {
  if (file.result.plan)
    return RequireHostNames(file.cluster, *file.result.plan);
  for (const PipelineReplica& replica :
       file.result.replicated_plan->pipelines) {
    TANGRAM_RETURN_IF_ERROR(RequireHostNames(file.cluster, replica.plan));
  }
  return absl::OkStatus();
}

absl::StatusOr<FrameworkExport> ExportWithAdvice(const std::string& target,
                                                 const PlanFile& file) {
  TANGRAM_RETURN_IF_ERROR(RequireHostNames(file));
  if (file.result.replicated_plan) {
    return ExportPipelines(target, {.cluster = file.cluster,
                                    .model = file.model,
                                    .training = file.training,
                                    .plan = *file.result.replicated_plan});
  }
  absl::StatusOr<FrameworkExport> exported =
      ExportPlan(target, PlannedIn(file));
  if (exported.ok()) return exported;
  return absl::Status(exported.status().code(),
                      absl::StrCat(exported.status().message(),
                                   ". What to do: ", Advice(target, file)));
}

// Returns why an export that loses settings writes nothing.
absl::Status WouldLose(const std::string& target, const PlanFile& file,
                       const FrameworkExport& exported) {
  const size_t count =
      exported.losses.size() + exported.framework_losses.size();
  std::string text = absl::StrCat("--to: ", target, " would lose ", count,
                                  count == 1 ? " setting" : " settings",
                                  "; expected --allow-lossy with it");
  // Another plan does not help with what is lost whatever the plan.
  if (!exported.losses.empty() && file.constraints.runtime != target &&
      file.result.plan) {
    absl::StrAppend(&text, ". Or: ", Advice(target, file));
  }
  return absl::FailedPreconditionError(text);
}

// Prints the evaluation of the plan that the framework will run, if that is not
// the plan that was made.
absl::Status PrintWhatRuns(const ExportOptions& options, PlanFile file,
                           const FrameworkExport& exported, Console& console) {
  if (exported.losses.empty()) return absl::OkStatus();
  file.training = exported.training;
  if (file.result.replicated_plan) {
    file.result.replicated_plan = exported.pipelines;
  } else {
    file.result.plan = exported.plan;
  }
  TANGRAM_RETURN_IF_ERROR(EvaluatePlanFile(options.plan_file, file, nullptr));
  console.out << "What " << options.target << " will run\n";
  if (file.result.replicated_plan) {
    PrintPipelines(file, console);
    console.out << "\n";
  }
  PrintPrediction(file.result, console);
  return absl::OkStatus();
}

// Prints an export as JSON. The files have their contents if they are not
// written.
void PrintExport(const ExportOptions& options, const FrameworkExport& exported,
                 Console& console) {
  Json files = Json::array();
  for (const ExportedFile& file : exported.files) {
    Json& added = files.emplace_back(Json{{"name", file.name}});
    if (options.output_folder.empty()) {
      added["content"] = file.content;
    } else {
      added["path"] = absl::StrCat(options.output_folder, "/", file.name);
    }
    added["executable"] = file.executable;
  }
  PrintJson({{"format_version", "tangram.export/v1"},
             {"framework", options.target},
             {"files", std::move(files)},
             {"losses", exported.losses},
             {"framework_losses", exported.framework_losses},
             {"guards", exported.guards},
             {"launch", exported.launch}},
            console);
}

}  // namespace

CommandResult Run(const ExportOptions& options, Console& console) {
  const bool is_json = console.format == OutputFormat::kJson;
  const bool prints_files = options.output_folder.empty();
  // Beside files, standard output has nothing else.
  Console notes{.out = prints_files ? console.err : console.out,
                .err = console.err,
                .color = console.color && !prints_files,
                .width = console.width};
  TANGRAM_RETURN_IF_ERROR(
      FindFramework(ExportTargets(), "--to", options.target).status());
  TANGRAM_ASSIGN_OR_RETURN(const PlanFile file,
                           ReadPlanFile(options.plan_file));
  if (!file.result.plan && !file.result.replicated_plan) {
    TANGRAM_RETURN_IF_ERROR(
        PrintAnswerOf(file, AnswerChoice(), options.plan_file, console));
    return ExitCode::kNoPlan;
  }
  TANGRAM_ASSIGN_OR_RETURN(const FrameworkExport exported,
                           ExportWithAdvice(options.target, file));
  std::vector<std::string> losses = exported.losses;
  absl::c_copy(exported.framework_losses, std::back_inserter(losses));
  if (!is_json) {
    PrintList(absl::StrCat("Lost in ", options.target), losses, notes);
    TANGRAM_RETURN_IF_ERROR(PrintWhatRuns(options, file, exported, notes));
  }
  if (!losses.empty() && !options.allow_lossy) {
    return WouldLose(options.target, file, exported);
  }
  if (!prints_files) {
    TANGRAM_RETURN_IF_ERROR(WriteFiles(options.output_folder, exported.files));
  }
  if (is_json) {
    PrintExport(options, exported, console);
    return ExitCode::kOk;
  }
  if (prints_files) {
    for (const ExportedFile& shown : exported.files) {
      console.out << "==> " << shown.name << " <==\n" << shown.content;
    }
  } else {
    std::vector<std::string> names;
    for (const ExportedFile& written : exported.files) {
      names.push_back(absl::StrCat(options.output_folder, "/", written.name));
    }
    PrintList("Files", names, notes);
  }
  PrintList("Made sure", exported.guards, notes);
  PrintList("Launch", {exported.launch}, notes);
  return ExitCode::kOk;
}

}  // namespace tangram
