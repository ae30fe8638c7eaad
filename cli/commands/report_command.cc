#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/commands/commands.h"
#include "cli/files/plan_files.h"
#include "common/base/status_macros.h"
#include "common/sim/explain_replicated_plan.h"
#include "common/wire/pipeline_files.h"
#include "frameworks/export_plan.h"
#include "web/view/report.h"

namespace tangram {
namespace {

std::string FileName(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Moves the sentences about one pipeline to its page, and the others and the
// notes to the first page. So a report grows with its pipelines, not with their
// square.
void ShareExplanation(const PlanFile& file, std::vector<PlanFile>& pipelines) {
  const PlanResult& result = file.result;
  absl::flat_hash_set<std::string> about_one;
  for (size_t r = 0; r < pipelines.size(); ++r) {
    pipelines[r].explanation =
        ExplainPipeline(file.model, file.cluster, *result.replicated_plan,
                        result.replicated_evaluation, r);
    about_one.insert(pipelines[r].explanation.begin(),
                     pipelines[r].explanation.end());
    if (r > 0) pipelines[r].result.notes.clear();
  }
  std::vector<std::string>& first = pipelines[0].explanation;
  for (const std::string& sentence : file.explanation) {
    if (!about_one.contains(sentence)) first.push_back(sentence);
  }
}

// Adds each pipeline of a plan of several as a plan of its own.
void AddPipelines(const std::string& path, const PlanFile& file,
                  PlanTimelines& timelines, std::vector<ReportedPlan>& plans) {
  std::vector<PlanFile> pipelines = PipelineFiles(file);
  ShareExplanation(file, pipelines);
  for (size_t r = 0; r < pipelines.size(); ++r) {
    ReportedPlan reported{.name =
                              absl::StrCat(FileName(path), ", pipeline ", r)};
    reported.file = std::move(pipelines[r]);
    if (r < timelines.size()) reported.timeline = std::move(timelines[r]);
    plans.push_back(std::move(reported));
  }
}

// Returns the path as a word of a shell.
std::string ShellWord(const std::string& path) {
  const bool is_plain = absl::c_all_of(path, [](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("._-/+=:,@%", c);
  });
  if (is_plain && !path.empty()) return path;
  return absl::StrCat("'", absl::StrReplaceAll(path, {{"'", "'\\''"}}), "'");
}

// Returns the export commands of the frameworks that run the plan as it is.
std::vector<RunCommand> RunCommandsOf(const std::string& path,
                                      const PlanFile& file) {
  std::vector<RunCommand> commands;
  for (const PlanTaker& taker : TakersOf({.cluster = file.cluster,
                                .model = file.model,
                                .training = file.training,
                                .plan = *file.result.plan})) {
    commands.push_back(
        {.framework = taker.framework,
         .command = absl::StrCat("tangram export ", ShellWord(path), " --to ",
                                 taker.framework,
                                 taker.losses.empty() ? "" : " --allow-lossy",
                                 " -o launch-", taker.framework),
         .losses = taker.losses,
         .reads_data = taker.reads_data});
  }
  return commands;
}

absl::Status AddReported(const std::string& path,
                         std::vector<ReportedPlan>& plans) {
  PlanTimelines timelines;
  TANGRAM_ASSIGN_OR_RETURN(PlanFile file, ReadAndEvaluate(path, &timelines));
  if (file.result.replicated_plan) {
    AddPipelines(path, file, timelines, plans);
    return absl::OkStatus();
  }
  ReportedPlan reported{.name = FileName(path)};
  reported.file = std::move(file);
  if (reported.file.result.plan) {
    reported.run = RunCommandsOf(path, reported.file);
  }
  if (!timelines.empty()) reported.timeline = std::move(timelines[0]);
  plans.push_back(std::move(reported));
  return absl::OkStatus();
}

}  // namespace

CommandResult Run(const ReportOptions& options, Console& console) {
  const bool to_standard_output = IsStandardOutput(options.output_file);
  if (!to_standard_output) {
    TANGRAM_RETURN_IF_ERROR(CheckWritable(options.output_file));
  }
  std::vector<ReportedPlan> plans;
  for (const std::string& path : options.plan_files) {
    TANGRAM_RETURN_IF_ERROR(AddReported(path, plans));
  }
  std::string page = ReportPage(plans);
  if (to_standard_output) {
    console.out << page;
    return ExitCode::kOk;
  }
  OutputFiles files;
  files.Add(options.output_file, std::move(page));
  TANGRAM_RETURN_IF_ERROR(files.Write());
  return ExitCode::kOk;
}

}  // namespace tangram
