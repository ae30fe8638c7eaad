#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/args/request.h"
#include "cli/commands/commands.h"
#include "cli/files/plan_files.h"
#include "cli/planning/interrupt.h"
#include "cli/planning/local_planning.h"
#include "cli/print/print_comparison.h"
#include "cli/print/progress_mode.h"
#include "cli/remote/remote_planning.h"
#include "common/base/status_macros.h"
#include "common/parallelizer/parallelizer_list.h"
#include "common/planner/plan_constraints.h"
#include "coordinator/planners/builtin/builtin_planners.h"
#include "frameworks/export_plan.h"
#include "worker/adapters/process/parallelizer_spec.h"

namespace tangram {
namespace {

// Returns the planners to compare, each once. All must be known.
absl::StatusOr<std::vector<std::string>> PlannersOf(
    const CompareOptions& options) {
  std::vector<std::string> names;
  if (options.planners.empty()) {
    for (const PlannerInfo& planner : BuiltinPlanners().planners()) {
      names.push_back(planner.name);
    }
    return names;
  }
  absl::flat_hash_set<std::string> seen;
  for (const std::string& name : options.planners) {
    TANGRAM_ASSIGN_OR_RETURN(const PlannerInfo* planner,
                             BuiltinPlanners().Find(name));
    if (seen.insert(planner->name).second) names.push_back(planner->name);
  }
  return names;
}

// Returns the options of each planner: "metis.mode=upstream" is one of metis.
absl::StatusOr<std::map<std::string, PlannerOptionText>> OptionsByPlanner(
    const CompareOptions& options, const std::vector<std::string>& planners) {
  std::map<std::string, std::vector<std::string>> given;
  for (const std::string& option : options.planner_options) {
    const size_t dot = option.find('.');
    const std::string planner = option.substr(0, dot);
    if (dot == std::string::npos || dot > option.find('=') ||
        std::find(planners.begin(), planners.end(), planner) ==
            planners.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--planner-option: ", option,
          "; expected PLANNER.NAME=VALUE for a planner that is compared: ",
          absl::StrJoin(planners, ", ")));
    }
    given[planner].push_back(option.substr(dot + 1));
  }
  std::map<std::string, PlannerOptionText> parsed;
  for (const auto& [planner, texts] : given) {
    TANGRAM_ASSIGN_OR_RETURN(parsed[planner], ParsePlannerOptions(texts));
    TANGRAM_RETURN_IF_ERROR(
        BuiltinPlanners().Choose(planner, parsed[planner], {}).status());
  }
  return parsed;
}

absl::StatusOr<PlanFile> PlanWith(const PlanningSetup& setup,
                                  const CompareOptions& options,
                                  const PlanRequest& request,
                                  Console& console) {
  const StopCondition stop(options.plan.timeout_s);
  ProgressLine line(console.err, ShowsProgress(options.plan.progress, console));
  absl::StatusOr<PlanFile> file =
      setup.coordinator.address.empty()
          ? PlanLocally(request, setup, stop, line)
          : PlanRemotely(request, setup, stop, line);
  if (!file.ok() && stop.DeadlinePassed()) {
    return absl::DeadlineExceededError(
        absl::StrCat("no plan within ", *options.plan.timeout_s, " s"));
  }
  return file;
}

// Returns the frameworks that run the plan as it is.
std::vector<std::string> FrameworksOf(const PlanFile& file) {
  std::vector<std::string> names;
  if (!file.result.plan) return names;
  for (const PlanTaker& taker : TakersOf({.cluster = file.cluster,
                                .model = file.model,
                                .training = file.training,
                                .plan = *file.result.plan})) {
    names.push_back(taker.framework);
  }
  return names;
}

std::string PlanPath(const std::string& folder, const std::string& planner) {
  return absl::StrCat(folder, "/", planner, ".json");
}

std::string ReportPath(const std::string& folder) {
  return absl::StrCat(folder, "/report.html");
}

// Makes the folder, and returns an error if a file cannot be made there.
absl::Status PrepareFolder(const std::string& folder,
                           const std::vector<std::string>& planners) {
  TANGRAM_RETURN_IF_ERROR(MakeFolder(folder));
  for (const std::string& planner : planners) {
    TANGRAM_RETURN_IF_ERROR(CheckWritable(PlanPath(folder, planner)));
  }
  return CheckWritable(ReportPath(folder));
}

// Writes each answer as PLANNER.json, and report.html with all plans.
absl::Status WriteAnswers(const std::string& folder,
                          const std::vector<PlannerAnswer>& answers,
                          Console& console) {
  OutputFiles files;
  ReportOptions report{.output_file = ReportPath(folder)};
  for (const PlannerAnswer& answer : answers) {
    if (!answer.file.ok()) continue;
    const std::string path = PlanPath(folder, answer.planner);
    TANGRAM_ASSIGN_OR_RETURN(std::string json, PlanFileToJson(*answer.file));
    files.Add(path, std::move(json));
    if (answer.has_plan()) report.plan_files.push_back(path);
  }
  TANGRAM_RETURN_IF_ERROR(files.Write());
  if (report.plan_files.empty()) return absl::OkStatus();
  return Run(report, console).status();
}

// Errors of a planner are part of its answer, but a request that is bad for all
// of them is an error.
absl::Status CheckSomeAnswer(const std::vector<PlannerAnswer>& answers) {
  for (const PlannerAnswer& answer : answers) {
    if (answer.file.ok()) return absl::OkStatus();
  }
  return answers.front().file.status();
}

}  // namespace

CommandResult Run(const CompareOptions& options, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<std::string> planners,
                           PlannersOf(options));
  TANGRAM_ASSIGN_OR_RETURN(auto planner_options,
                           OptionsByPlanner(options, planners));
  PlanOptions plan = options.plan;
  if (plan.constraints.runtime.empty()) plan.constraints.runtime = kAnyRuntime;
  TANGRAM_ASSIGN_OR_RETURN(const PlanRequest request, MakePlanRequest(plan));
  if (!options.output_folder.empty()) {
    TANGRAM_RETURN_IF_ERROR(PrepareFolder(options.output_folder, planners));
  }
  std::vector<PlannerAnswer> answers;
  for (const std::string& planner : planners) {
    const PlanningSetup setup{
        .parallelizer = plan.parallelizer.empty()
                            ? std::string(kSuitableParallelizers)
                            : plan.parallelizer,
        .planner = planner,
        .planner_options = planner_options[planner],
        .search = plan.search,
        .num_threads = plan.num_threads,
        .coordinator = plan.coordinator};
    PlannerAnswer answer{.planner = planner,
                         .file = PlanWith(setup, options, request, console)};
    if (Interrupted()) return absl::CancelledError("interrupted");
    if (answer.file.ok()) answer.frameworks = FrameworksOf(*answer.file);
    answers.push_back(std::move(answer));
  }
  TANGRAM_RETURN_IF_ERROR(CheckSomeAnswer(answers));
  SortByTime(answers);
  if (!options.output_folder.empty()) {
    TANGRAM_RETURN_IF_ERROR(
        WriteAnswers(options.output_folder, answers, console));
  }
  if (console.format == OutputFormat::kJson) {
    PrintComparisonAsJson(answers, console);
  } else {
    PrintComparison(answers, console);
  }
  return answers.front().has_plan() ? ExitCode::kOk : ExitCode::kNoPlan;
}

}  // namespace tangram
