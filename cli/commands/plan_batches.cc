#include "cli/commands/plan_batches.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/args/prices.h"
#include "cli/args/request.h"
#include "cli/commands/answer.h"
#include "cli/commands/make_plan.h"
#include "cli/files/plan_files.h"
#include "cli/planning/interrupt.h"
#include "cli/planning/local_planning.h"
#include "cli/print/answer_json.h"
#include "cli/print/plan_figures.h"
#include "cli/print/print_plan.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "common/base/status_macros.h"
#include "common/wire/allocation_answer.h"

namespace tangram {
namespace {

absl::Status CheckOptions(const PlanOptions& options) {
  const std::pair<bool, const char*> given[] = {
      {!options.job_id.empty(), "--job"},
      {!options.request_file.empty(), "--request"},
      {!options.timeline_file.empty(), "--timeline"},
      {!options.trace_file.empty(), "--trace"},
      {options.dry_run, "--dry-run"},
      {IsStandardOutput(options.output_file), "--output -"}};
  for (const auto& [is_given, name] : given) {
    if (!is_given) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--global-batch: several sizes; expected one with ", name));
  }
  return absl::OkStatus();
}

// "plans/p-64.json" for "plans/p.json".
std::string PathFor(int size, const std::string& path) {
  if (path.empty()) return "";
  const size_t slash = path.rfind('/');
  const size_t dot = path.rfind('.');
  const bool has_ending = dot != std::string::npos && dot > 0 &&
                          (slash == std::string::npos || dot > slash + 1);
  const size_t end = has_ending ? dot : path.size();
  return absl::StrCat(path.substr(0, end), "-", size, path.substr(end));
}

// Plans for one size.
absl::StatusOr<PlanFile> PlanOne(const PlanOptions& options, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(const PlanRequest request, MakePlanRequest(options));
  TANGRAM_ASSIGN_OR_RETURN(const PlanningSetup setup, PlanningSetupOf(options));
  TANGRAM_ASSIGN_OR_RETURN(PlanFile file,
                           MakePlan(options, request, setup, console,
                                    /*tracer=*/nullptr));
  if (file.result.has_plan()) {
    TANGRAM_RETURN_IF_ERROR(
        EvaluatePlanFile("plan", file, /*timelines=*/nullptr, Interrupted));
  }
  if (Interrupted()) return absl::CancelledError("interrupted");
  return file;
}

void PrintTable(const std::vector<AnswerView>& views, Console& console) {
  Table table({{"global batch", Table::kRight},
               {"iteration", Table::kRight},
               {"tokens/s", Table::kRight},
               {"hours", Table::kRight},
               {"GPU-hours", Table::kRight},
               {"cost", Table::kRight},
               {"memory", Table::kRight},
               {"runs in"}});
  const AnswerView* fastest = nullptr;
  for (const AnswerView& view : views) {
    const PlanResult& result = view.file.result;
    const std::string size = absl::StrCat(view.file.training.global_batch_size);
    if (!result.has_plan()) {
      table.AddRow({size, "no plan", "", "", "", "", "", ""});
      continue;
    }
    if (fastest == nullptr ||
        TokensPerSecond(result) > TokensPerSecond(fastest->file.result)) {
      fastest = &view;
    }
    const TrainingNeeds needs = NeedsOf(view);
    table.AddRow(
        {size, FormatSeconds(result.iteration_time_s()),
         FormatThousands(std::llround(TokensPerSecond(result))),
         absl::StrFormat("%.1f", needs.hours),
         absl::StrFormat("%.1f", needs.hours * needs.num_gpus),
         view.price_per_hour
             ? absl::StrFormat("%.2f", needs.hours * *view.price_per_hour)
             : "",
         FormatPercent(FiguresOf(view.file).memory_fraction),
         view.takers.empty() ? "none" : view.takers.front().framework});
  }
  console.out << Styled(console, Style::kBold, "Global batch sizes") << "\n"
              << table.ToString(console.width);
  if (fastest != nullptr) {
    console.out << WrapText(
        absl::StrFormat("hours of %.4g tokens; most tokens a second: %d",
                        NeedsOf(*fastest).tokens,
                        fastest->file.training.global_batch_size),
        /*indent=*/2, console.width);
  }
  for (const AnswerView& view : views) {
    if (view.file.result.has_plan()) continue;
    console.out << WrapText(absl::StrCat(view.file.training.global_batch_size,
                                         ": ", WhyNone(view.file)),
                            /*indent=*/2, console.width);
  }
}

void PrintAsJson(const std::vector<AnswerView>& views, Console& console) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const AnswerView& view : views) {
    list.push_back({{"global_batch", view.file.training.global_batch_size},
                    {"answer", AnswerJson(view)}});
  }
  PrintJson({{"format_version", "tangram.batches/v1"}, {"batches", list}},
            console);
}

}  // namespace

CommandResult PlanBatches(const PlanOptions& options, Console& console) {
  TANGRAM_RETURN_IF_ERROR(CheckOptions(options));
  for (const int size : options.global_batch_sizes) {
    TANGRAM_RETURN_IF_ERROR(
        CheckOutputs({.plan_file = PathFor(size, options.output_file)}));
  }
  std::vector<PlanFile> files;
  for (const int size : options.global_batch_sizes) {
    PlanOptions one = options;
    one.training.global_batch_size = size;
    TANGRAM_ASSIGN_OR_RETURN(files.emplace_back(), PlanOne(one, console));
  }
  // The table replaces the single answers, so their guesses are not needed.
  AnswerChoice choice = options.answer;
  choice.detail = Detail::kBrief;
  std::vector<AnswerView> views;
  bool any_plan = false;
  for (const PlanFile& file : files) {
    const std::string path =
        PathFor(file.training.global_batch_size, options.output_file);
    TANGRAM_RETURN_IF_ERROR(
        WriteOutputs({.plan_file = path}, file, {}, console.out));
    TANGRAM_ASSIGN_OR_RETURN(AnswerView view, ViewOf(file, choice, path));
    views.push_back(std::move(view));
    any_plan = any_plan || file.result.has_plan();
  }
  if (!options.quiet && console.format == OutputFormat::kJson) {
    PrintAsJson(views, console);
  } else if (!options.quiet) {
    PrintTable(views, console);
  }
  return any_plan ? ExitCode::kOk : ExitCode::kNoPlan;
}

}  // namespace tangram
