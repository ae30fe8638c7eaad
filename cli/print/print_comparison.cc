#include "cli/print/print_comparison.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/print/answer_json.h"
#include "cli/print/band_text.h"
#include "cli/print/plan_figures.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "common/base/infinity.h"
#include "common/sim/compare_plans.h"
#include "common/sim/describe.h"
#include "common/sim/time_shares.h"
#include "common/wire/allocation_answer.h"

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

double TimeOf(const PlannerAnswer& answer) {
  return answer.has_plan() ? answer.file->result.iteration_time_s() : kInfinity;
}

// "15.0 s, +50.0 %", the planner's own prediction and its error. Large errors
// have no decimals, so that the table stays within the width of a page.
std::string OwnEstimate(const PlanFigures& figures) {
  if (!figures.predicted_s) return "";
  const double percent = 100 * figures.prediction_error();
  return absl::StrFormat("%s, %+.*f %%", FormatSeconds(*figures.predicted_s),
                         std::abs(percent) < 100 ? 1 : 0, percent);
}

// "3", or "5 in 2" if these are the stages of two pipelines.
std::string Stages(const PlanFigures& figures) {
  if (figures.num_pipelines == 1) return absl::StrCat(figures.num_stages);
  return absl::StrCat(figures.num_stages, " in ", figures.num_pipelines);
}

// "flagscale, +3".
std::string Frameworks(const PlannerAnswer& answer) {
  const size_t count = answer.frameworks.size();
  if (count == 0) return "none";
  if (count == 1) return answer.frameworks.front();
  return absl::StrCat(answer.frameworks.front(), ", +", count - 1);
}

// A share of the GPUs' time, in two plans.
struct ShareChange {
  std::string name;
  double before = 0;
  double after = 0;

  double size() const { return std::abs(after - before); }
};

// Returns the shares of time that differ most.
std::vector<ShareChange> LargestChanges(const EvaluatedPlan& a,
                                        const EvaluatedPlan& b) {
  constexpr size_t kMostChanges = 3;
  constexpr double kNegligible = 0.01;
  const std::vector<TimeShare> before = TimeShares(a.plan, a.evaluation);
  const std::vector<TimeShare> after = TimeShares(b.plan, b.evaluation);
  std::vector<ShareChange> changes = {
      {"recomputation", RecomputationShare(a.plan, a.evaluation),
       RecomputationShare(b.plan, b.evaluation)}};
  for (size_t i = 0; i < before.size(); ++i) {
    changes.push_back(
        {std::string(before[i].name), before[i].fraction, after[i].fraction});
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const ShareChange& x, const ShareChange& y) {
                     return x.size() > y.size();
                   });
  changes.resize(std::min(changes.size(), kMostChanges));
  std::erase_if(changes, [](const ShareChange& change) {
    return change.size() < kNegligible;
  });
  return changes;
}

// Returns in what the plans differ as a whole, and then the shares of time that
// differ most.
std::vector<std::string> MainDifferences(const EvaluatedPlan& a,
                                         const EvaluatedPlan& b) {
  std::vector<std::string> lines;
  const auto count = [&](absl::string_view what, int before, int after) {
    if (before == after) return;
    lines.push_back(absl::StrCat(what, " ", before, " -> ", after));
  };
  count("GPUs", NumGpus(a.plan), NumGpus(b.plan));
  count("stages", a.plan.num_stages(), b.plan.num_stages());
  count("microbatch", a.plan.pipeline_microbatch_size,
        b.plan.pipeline_microbatch_size);
  if (a.plan.schedule != b.plan.schedule) {
    lines.push_back(absl::StrCat("schedule ", ScheduleName(a.plan.schedule),
                                 " -> ", ScheduleName(b.plan.schedule)));
  }
  for (const ShareChange& change : LargestChanges(a, b)) {
    lines.push_back(absl::StrCat(change.name, " ", FormatPercent(change.before),
                                 " -> ", FormatPercent(change.after)));
  }
  return lines;
}

// Returns in one sentence what makes plan `a` faster than `b`.
std::string WhyFaster(const PlannerAnswer& a, const PlannerAnswer& b) {
  const std::vector<EvaluatedPlan> faster = PipelinesOf(a.file->result);
  const std::vector<EvaluatedPlan> slower = PipelinesOf(b.file->result);
  std::vector<std::string> lines;
  if (faster.size() == 1 && slower.size() == 1) {
    lines = MainDifferences(slower.front(), faster.front());
  } else {
    lines.push_back(
        absl::StrCat("pipelines ", slower.size(), " -> ", faster.size()));
  }
  if (lines.empty()) lines.emplace_back("other borders between stages");
  const double change = TimeOf(b) / TimeOf(a) - 1;
  const bool tie = Tie(a.file->result, b.file->result);
  return absl::StrCat(a.planner, " is ", FormatPercent(change), " faster than ",
                      b.planner, tie ? ", a tie within the band" : "", ": ",
                      absl::StrJoin(lines, ", "));
}

void PrintTable(absl::Span<const PlannerAnswer> answers, Console& console) {
  Table table({{"planner"},
               {"iteration", Table::kRight},
               {"own estimate", Table::kRight},
               {"memory", Table::kRight},
               {"GPUs", Table::kRight},
               {"stages", Table::kRight},
               {"planning", Table::kRight},
               {"runs in"}});
  for (const PlannerAnswer& answer : answers) {
    if (!answer.has_plan()) {
      table.AddRow({answer.planner, "no plan", "", "", "", "", "", ""});
      continue;
    }
    const PlanFigures figures = FiguresOf(*answer.file);
    table.AddRow({answer.planner, FormatSeconds(figures.iteration_time_s),
                  OwnEstimate(figures), FormatPercent(figures.memory_fraction),
                  absl::StrCat(figures.num_gpus), Stages(figures),
                  FormatSeconds(figures.planning_s), Frameworks(answer)});
  }
  console.out << Styled(console, Style::kBold, "Planners") << "\n"
              << table.ToString();
}

// Prints the bands of the times, one line for planners with the same.
void PrintBands(absl::Span<const PlannerAnswer> answers, Console& console) {
  std::vector<std::pair<std::string, std::vector<std::string>>> bands;
  for (const PlannerAnswer& answer : answers) {
    if (!answer.has_plan() || !answer.file->result.band) continue;
    const std::string label = BandLabel(answer.file->result.band->time);
    if (bands.empty() || bands.back().first != label) {
      bands.push_back({label, {}});
    }
    bands.back().second.push_back(answer.planner);
  }
  for (const auto& [label, planners] : bands) {
    console.out << WrapText(
        absl::StrCat(label, " in ", FormatPercent(kBandCoverage), " of runs",
                     bands.size() > 1 ? ": " : "",
                     bands.size() > 1 ? absl::StrJoin(planners, ", ") : ""),
        /*indent=*/2, console.width);
  }
}

void PrintWhyFaster(absl::Span<const PlannerAnswer> answers, Console& console) {
  bool any = false;
  for (size_t i = 0; i + 1 < answers.size(); ++i) {
    if (!answers[i + 1].has_plan()) break;
    if (!any) {
      console.out << "\n"
                  << Styled(console, Style::kBold, "Why one is faster") << "\n";
    }
    any = true;
    console.out << WrapText(WhyFaster(answers[i], answers[i + 1]),
                            /*indent=*/2, console.width);
  }
}

void PrintWhyNone(absl::Span<const PlannerAnswer> answers, Console& console) {
  bool any = false;
  for (const PlannerAnswer& answer : answers) {
    if (answer.has_plan()) continue;
    if (!any) {
      console.out << "\n"
                  << Styled(console, Style::kBold, "Without a plan") << "\n";
    }
    any = true;
    console.out << WrapText(
        absl::StrCat(answer.planner, ": ", WhyNone(answer.file)),
        /*indent=*/2, console.width);
  }
}

Json View(const PlannerAnswer& answer) {
  Json view = {{"planner", answer.planner}, {"has_plan", answer.has_plan()}};
  if (!answer.has_plan()) {
    view["reason"] = WhyNone(answer.file);
    return view;
  }
  const PlanFigures figures = FiguresOf(*answer.file);
  view["iteration_time_s"] = figures.iteration_time_s;
  if (const auto& band = answer.file->result.band) {
    view["iteration_time_low_s"] = figures.iteration_time_s * band->time.low;
    view["iteration_time_high_s"] = figures.iteration_time_s * band->time.high;
  }
  if (figures.predicted_s) {
    view["predicted_s"] = *figures.predicted_s;
    view["prediction_error"] = figures.prediction_error();
  }
  view["memory_fraction"] = figures.memory_fraction;
  view["gpus"] = figures.num_gpus;
  view["stages"] = figures.num_stages;
  view["pipelines"] = figures.num_pipelines;
  view["planning_s"] = figures.planning_s;
  view["frameworks"] = answer.frameworks;
  view["notes"] = answer.file->result.notes;
  return view;
}

}  // namespace

void SortByTime(std::vector<PlannerAnswer>& answers) {
  std::stable_sort(answers.begin(), answers.end(),
                   [](const PlannerAnswer& a, const PlannerAnswer& b) {
                     return TimeOf(a) < TimeOf(b);
                   });
}

void PrintComparison(absl::Span<const PlannerAnswer> answers,
                     Console& console) {
  PrintTable(answers, console);
  PrintBands(answers, console);
  PrintWhyFaster(answers, console);
  PrintWhyNone(answers, console);
}

void PrintComparisonAsJson(absl::Span<const PlannerAnswer> answers,
                           Console& console) {
  Json planners = Json::array();
  for (const PlannerAnswer& answer : answers) planners.push_back(View(answer));
  for (size_t i = 0; i + 1 < answers.size(); ++i) {
    if (!answers[i + 1].has_plan()) break;
    planners[i]["why_faster_than_next"] = WhyFaster(answers[i], answers[i + 1]);
    planners[i]["ties_with_next"] =
        Tie(answers[i].file->result, answers[i + 1].file->result);
  }
  const Json view = {{"format_version", "tangram.comparison/v1"},
                     {"planners", std::move(planners)}};
  PrintJson(view, console);
}

}  // namespace tangram
