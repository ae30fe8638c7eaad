#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/print/band_text.h"
#include "cli/print/plan_figures.h"
#include "cli/print/print_answer.h"
#include "cli/print/print_plan.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "common/base/printable_text.h"
#include "common/sim/stage_labels.h"
#include "formats/config/memory_margin.h"

namespace tangram {
namespace {

constexpr int kTextColumn = 18;
constexpr double kSecondsInHour = 3600;
// Tokens to say what training takes, if nobody said how many there are.
constexpr double kUsualTokens = 1e9;

void PrintLine(absl::string_view label, const std::string& text,
               Console& console) {
  console.out << LabelledText(label, text, kTextColumn, console.width);
}

// "1 billion", "300 billion", "2.5 trillion".
std::string TokensText(double tokens) {
  struct Unit {
    double size;
    const char* name;
  };
  for (const Unit& unit :
       {Unit{1e12, "trillion"}, Unit{1e9, "billion"}, Unit{1e6, "million"}}) {
    if (tokens >= unit.size) {
      return absl::StrFormat("%.4g %s", tokens / unit.size, unit.name);
    }
  }
  return absl::StrFormat("%.4g", tokens);
}

std::string DurationText(double hours) {
  if (hours < 1) return absl::StrFormat("%.3g minutes", 60 * hours);
  if (hours < 48) return absl::StrFormat("%.3g hours", hours);
  const double days = hours / 24;
  return days < 100
             ? absl::StrFormat("%.3g days", days)
             : absl::StrCat(FormatThousands(std::llround(days)), " days");
}

std::string AmountText(double amount) {
  return amount < 100 ? absl::StrFormat("%.3g", amount)
                      : FormatThousands(std::llround(amount));
}

// Returns the share of compute time that was measured, of the first pipeline.
double MeasuredFraction(const PlanResult& result) {
  return result.replicated_plan
             ? result.replicated_evaluation.pipelines.front().measured_fraction
             : result.evaluation.measured_fraction;
}

void PrintIteration(const PlanResult& result, Console& console) {
  PrintLine("iteration time",
            absl::StrCat(FormatSeconds(result.iteration_time_s()), ", ",
                         FormatThousands(std::llround(TokensPerSecond(result))),
                         " tokens/s"),
            console);
  if (const double measured = MeasuredFraction(result); measured > 0) {
    PrintLine("measured",
              absl::StrCat(FormatPercent(measured),
                           " of compute time; the rest is modelled"),
              console);
  }
  if (!result.band) return;
  PrintLine(
      "expected",
      absl::StrCat(ExpectedTime(result), " in ",
                   absl::StrFormat("%.0f", 100 * kBandCoverage), " % of runs"),
      console);
}

// Says what training on the tokens takes.
void PrintTraining(const AnswerView& view, Console& console) {
  if (!(TokensPerSecond(view.file.result) > 0)) return;
  const TrainingNeeds needs = NeedsOf(view);
  std::string text = absl::StrCat(
      TokensText(needs.tokens), " tokens take ", DurationText(needs.hours),
      ", ", AmountText(needs.hours * needs.num_gpus), " GPU-hours");
  if (view.price_per_hour) {
    absl::StrAppend(&text, ", cost ",
                    AmountText(needs.hours * *view.price_per_hour));
    if (view.price_per_hour_of_all.value_or(0) > *view.price_per_hour) {
      absl::StrAppend(&text, ", with idle nodes ",
                      AmountText(needs.hours * *view.price_per_hour_of_all));
    }
  }
  if (!view.tokens) absl::StrAppend(&text, " (--tokens N)");
  PrintLine("training", text, console);
}

void PrintMemory(const AnswerView& view, Console& console) {
  const PlanResult& result = view.file.result;
  const std::vector<EvaluatedPlan> pipelines = PipelinesOf(result);
  size_t violations = 0;
  for (const EvaluatedPlan& pipeline : pipelines) {
    violations += pipeline.evaluation.violations.size();
  }
  if (violations > 0) {
    PrintLine(
        "memory",
        absl::StrCat("does not fit: ",
                     FormatItems(static_cast<int64_t>(violations), "violation"),
                     " below"),
        console);
    return;
  }
  const Fullest fullest = FullestOf(pipelines);
  if (fullest.stage == nullptr) return;
  const double real_bytes =
      fullest.stage->capacity_bytes / (1 - MemoryMarginOf(view.file.cluster));
  const double free_bytes = real_bytes - fullest.stage->peak_bytes;
  std::string text =
      absl::StrCat("fits; the fullest GPU, in ", fullest.name, ", keeps ",
                   FormatPercent(free_bytes / real_bytes), " of its ",
                   FormatBytes(real_bytes), " free");
  if (result.band &&
      fullest.stage->peak_bytes * result.band->memory.high > real_bytes) {
    absl::StrAppend(
        &text, ", less than the +",
        absl::StrFormat("%.0f", 100 * (result.band->memory.high - 1)),
        " % by which peaks may be higher");
  }
  PrintLine("memory", text, console);
}

// Breaks a command between words into lines that a shell joins.
std::string CommandLines(const std::string& command, int indent, int width) {
  std::string lines = WrapText(command, indent, width - 2);
  for (size_t at = lines.find('\n'); at + 1 < lines.size();
       at = lines.find('\n', at + 3)) {
    lines.insert(at, " \\");
  }
  return lines;
}

void PrintNext(const AnswerView& view, Console& console) {
  const PlanTaker& taker = view.takers.front();
  const bool is_written = !view.plan_path.empty();
  const std::string command =
      EscapedControls(ExportCommand(taker, view.plan_path));
  if (!is_written) {
    PrintLine("next", "this command again with -o plan.json, then", console);
    console.out << CommandLines(command, /*indent=*/4, console.width);
  } else if (kTextColumn + static_cast<int>(command.size()) <= console.width) {
    PrintLine("next", command, console);
  } else {
    PrintLine("next", "write the launch files:", console);
    console.out << CommandLines(command, /*indent=*/4, console.width);
  }
  for (const std::string& loss : taker.losses) {
    console.out << WrapText(absl::StrCat("lost: ", loss), /*indent=*/4,
                            console.width);
  }
}

// Says which frameworks run the plan, and how to go on.
void PrintRuns(const AnswerView& view, Console& console) {
  if (!view.file.result.plan) return;
  if (view.takers.empty()) {
    PrintLine("runs in", "no framework as it is; --runtime auto plans for one",
              console);
    return;
  }
  std::vector<std::string> names;
  for (const PlanTaker& taker : view.takers) names.push_back(taker.framework);
  std::string text = absl::StrJoin(names, ", ");
  if (absl::c_none_of(view.takers, [](const PlanTaker& taker) {
        return taker.reads_data;
      })) {
    absl::StrAppend(&text, names.size() > 1 ? ", which read" : ", which reads",
                    " no data of yours");
    if (view.on_own_data != nullptr) {
      absl::StrAppend(&text, "; --runtime ", view.on_own_data->runtime,
                      " plans for one that does: ",
                      FormatBeside(*view.on_own_data->iteration_time_s,
                                   view.file.result.iteration_time_s()));
    }
  }
  PrintLine("runs in", text, console);
  PrintNext(view, console);
}

void PrintNoPlan(const PlanResult& result, Console& console) {
  console.out << Styled(console, Style::kBad, "No plan fits") << "\n";
  if (!result.infeasible) return;
  const Infeasible& infeasible = *result.infeasible;
  std::string text = infeasible.reason;
  if (infeasible.bytes_short > 0) {
    absl::StrAppend(&text, "; ", FormatBytes(infeasible.bytes_short),
                    " short per GPU");
  }
  console.out << WrapText(text, /*indent=*/2, console.width);
}

void PrintConstraints(PlanConstraints constraints, Console& console) {
  if (constraints.runtime == kAutoRuntime) constraints.runtime.clear();
  if (constraints.none()) return;
  console.out << WrapText(
      absl::StrCat("asked for: ",
                   absl::StrJoin(DescribeConstraints(constraints), ", ")),
      /*indent=*/2, console.width);
}

}  // namespace

TrainingNeeds NeedsOf(const AnswerView& view) {
  TrainingNeeds needs{.tokens = view.tokens.value_or(kUsualTokens)};
  for (const EvaluatedPlan& pipeline : PipelinesOf(view.file.result)) {
    needs.num_gpus += NumGpus(pipeline.plan);
  }
  needs.hours =
      needs.tokens / TokensPerSecond(view.file.result) / kSecondsInHour;
  return needs;
}

std::string ExportCommand(const PlanTaker& taker,
                          const std::string& plan_path) {
  return absl::StrCat(
      "tangram export ", plan_path.empty() ? "plan.json" : plan_path, " --to ",
      taker.framework, taker.losses.empty() ? "" : " --allow-lossy",
      " -o launch-", taker.framework);
}

void PrintHeadline(const AnswerView& view, Console& console) {
  const PlanFile& file = view.file;
  PrintRequest(file.cluster, file.model, file.training, console);
  PrintConstraints(file.constraints, console);
  console.out << "\n";
  if (!file.result.has_plan()) {
    PrintNoPlan(file.result, console);
    return;
  }
  console.out << Styled(console, Style::kBold, "Answer") << "\n";
  PrintIteration(file.result, console);
  PrintTraining(view, console);
  PrintMemory(view, console);
  PrintRuns(view, console);
}

}  // namespace tangram
