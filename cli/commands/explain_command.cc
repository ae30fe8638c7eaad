#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/answer.h"
#include "cli/commands/commands.h"
#include "cli/files/plan_files.h"
#include "cli/print/print_plan.h"
#include "cli/print/table.h"
#include "common/base/status_macros.h"
#include "common/sim/compare_plans.h"

namespace tangram {
namespace {

void PrintSentences(const std::string& title,
                    const std::vector<std::string>& sentences,
                    Console& console) {
  console.out << Styled(console, Style::kBold, title) << "\n";
  for (const std::string& sentence : sentences) {
    console.out << WrapText(sentence, /*indent=*/2, console.width);
  }
  if (sentences.empty()) console.out << "  nothing to report\n";
}

// OK if both plans are for the same model and training; names do not count.
// Both have a plan of one pipeline.
absl::Status CheckComparable(const ExplainOptions& options,
                             const PlanFile& file, const PlanFile& other) {
  if (!other.result.plan) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.against_file, ": plan: missing; expected a plan"));
  }
  if (file.model.layers != other.model.layers ||
      file.training != other.training) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.against_file, ": model and training: not those of ",
        options.plan_file, "; expected two plans for the same training job"));
  }
  return absl::OkStatus();
}

// Returns the plan of --against; empty if there is none to compare.
absl::StatusOr<std::optional<PlanFile>> ReadAgainst(
    const ExplainOptions& options, const PlanFile& file) {
  const bool has_plan = file.result.plan || file.result.replicated_plan;
  if (options.against_file.empty() || !has_plan) return std::nullopt;
  if (!file.result.plan) {
    return absl::InvalidArgumentError(
        "--against: several pipelines; expected a plan of one (tangram diff "
        "compares others)");
  }
  TANGRAM_ASSIGN_OR_RETURN(PlanFile other,
                           ReadAndEvaluate(options.against_file));
  TANGRAM_RETURN_IF_ERROR(CheckComparable(options, file, other));
  return other;
}

}  // namespace

CommandResult Run(const ExplainOptions& options, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(const PlanFile file,
                           ReadAndEvaluate(options.plan_file));
  // Errors come before anything is printed.
  TANGRAM_ASSIGN_OR_RETURN(const std::optional<PlanFile> other,
                           ReadAgainst(options, file));
  TANGRAM_RETURN_IF_ERROR(
      PrintAnswerOf(file, options.answer, options.plan_file, console));
  const bool has_plan = file.result.plan || file.result.replicated_plan;
  if (options.answer.detail == Detail::kBrief ||
      console.format == OutputFormat::kJson) {
    return has_plan ? ExitCode::kOk : ExitCode::kNoPlan;
  }
  console.out << "\n";
  if (has_plan) {
    PrintSentences("Why it is this fast", file.explanation, console);
    console.out << "\n";
  }
  PrintRunnersUp(file.result, console);
  PrintPlanningCost(file, console);
  if (!has_plan) return ExitCode::kNoPlan;
  if (!other.has_value()) return ExitCode::kOk;
  console.out << "\n";
  PrintSentences(absl::StrCat("Against ", options.against_file),
                 ComparePlans({*other->result.plan, other->result.evaluation},
                              {*file.result.plan, file.result.evaluation}),
                 console);
  return ExitCode::kOk;
}

}  // namespace tangram
