#include "cli/print/print_answer.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/print/print_certificate.h"
#include "cli/print/print_islands.h"
#include "cli/print/print_plan.h"
#include "cli/print/print_stages.h"
#include "cli/print/table.h"
#include "common/base/format.h"

namespace tangram {
namespace {

// Guesses that change the time by less are not listed, nor more than so many.
constexpr double kSmallestEffect = 0.0005;
constexpr size_t kMostGuesses = 6;

void PrintParagraph(const std::string& text, Console& console) {
  console.out << WrapText(text, /*indent=*/2, console.width);
}

IslandUses UsesOf(const PlanResult& result) {
  if (!result.has_plan()) return {};
  IslandUses uses{.what = result.plan ? "stage" : "pipeline",
                  .used = std::vector<std::set<int>>(result.islands.size())};
  const auto use = [&uses](int island, int number) {
    // A file from elsewhere may name an island that does not exist.
    if (island >= 0 && island < static_cast<int>(uses.used.size())) {
      uses.used[island].insert(number);
    }
  };
  if (result.plan) {
    for (int s = 0; s < result.plan->num_stages(); ++s) {
      use(result.plan->stages[s].island, s);
    }
    return uses;
  }
  const auto& pipelines = result.replicated_plan->pipelines;
  for (size_t r = 0; r < pipelines.size(); ++r) {
    for (const PlacedStage& stage : pipelines[r].plan.stages) {
      use(stage.island, static_cast<int>(r));
    }
  }
  return uses;
}

// Prints why islands are left out. Equal islands usually have one reason.
void PrintUnusedIslands(const PlanResult& result, Console& console) {
  std::vector<std::pair<std::string, int>> lines;  // With their numbers.
  for (const UnusedIsland& unused : result.unused_islands) {
    const std::string with_it =
        unused.best_with_it_s
            ? absl::StrCat("; the best plan with it takes ",
                           FormatSeconds(*unused.best_with_it_s))
            : "";
    const std::string line =
        absl::StrCat("left out: ", result.islands[unused.island].name, ": ",
                     unused.reason, with_it);
    const auto known = absl::c_find_if(
        lines, [&](const auto& other) { return other.first == line; });
    if (known == lines.end()) {
      lines.emplace_back(line, 1);
    } else {
      ++known->second;
    }
  }
  for (const auto& [line, count] : lines) {
    PrintParagraph(
        count == 1 ? line : absl::StrCat(line, " (", count, " islands)"),
        console);
  }
}

// Returns how much longer than the plan of `result` it takes: "4.6 %".
std::string LongerLabel(double iteration_time_s, const PlanResult& result) {
  const double longer = iteration_time_s / result.iteration_time_s() - 1;
  return longer > 0 ? FormatPercent(longer) : "";
}

// The results of a search for each framework.
struct FrameworkPlans {
  std::vector<const PlanAlternative*> found;  // The fastest first.
  std::vector<std::string> without;
  // By the reason why they were not searched.
  std::map<std::string, std::vector<std::string>> not_searched;
  const PlanAlternative* any = nullptr;  // A plan of any kind.
};

FrameworkPlans FrameworkPlansOf(const PlanResult& result) {
  FrameworkPlans plans;
  for (const PlanAlternative& alternative : result.alternatives) {
    if (alternative.runtime == kAnyRuntime) {
      plans.any = &alternative;
    } else if (!alternative.was_searched()) {
      plans.not_searched[alternative.reason].push_back(alternative.runtime);
    } else if (!alternative.iteration_time_s) {
      plans.without.push_back(alternative.runtime);
    } else {
      plans.found.push_back(&alternative);
    }
  }
  absl::c_stable_sort(plans.found,
                      [](const PlanAlternative* a, const PlanAlternative* b) {
                        return *a->iteration_time_s < *b->iteration_time_s;
                      });
  return plans;
}

// Prints the best plan for each framework: in one paragraph, or as a table.
void PrintFound(const AnswerView& view, const FrameworkPlans& plans,
                Console& console) {
  const PlanResult& result = view.file.result;
  if (view.detail == Detail::kAll) {
    Table table({{"best plan for"},
                 {"iteration", Table::kRight},
                 {"longer", Table::kRight},
                 {.title = "slice plans of", .is_elastic = true}});
    for (const PlanAlternative* plan : plans.found) {
      table.AddRow({plan->runtime, FormatSeconds(*plan->iteration_time_s),
                    LongerLabel(*plan->iteration_time_s, result),
                    absl::StrJoin(plan->parallelizers, ", ")});
    }
    console.out << table.ToString(console.width);
    return;
  }
  std::vector<std::string> items;
  for (const PlanAlternative* plan : plans.found) {
    const std::string longer = LongerLabel(*plan->iteration_time_s, result);
    items.push_back(absl::StrCat(
        plan->runtime, " ", FormatSeconds(*plan->iteration_time_s),
        longer.empty() ? "" : " (+", longer, longer.empty() ? "" : ")"));
  }
  if (!items.empty()) PrintParagraph(absl::StrJoin(items, ", "), console);
}

// Prints the answer of runtime auto: the best plan for each framework, and what
// a plan of any kind would bring.
void PrintFrameworks(const AnswerView& view, Console& console) {
  const PlanResult& result = view.file.result;
  if (result.alternatives.empty()) return;
  console.out << "\n" << Styled(console, Style::kBold, "Frameworks") << "\n";
  const FrameworkPlans plans = FrameworkPlansOf(result);
  PrintFound(view, plans, console);
  if (!plans.without.empty()) {
    PrintParagraph(
        absl::StrCat("no plan for ", absl::StrJoin(plans.without, ", "),
                     ": --runtime NAME says why"),
        console);
  }
  for (const auto& [reason, names] : plans.not_searched) {
    PrintParagraph(absl::StrCat("not searched: ", absl::StrJoin(names, ", "),
                                ": ", reason),
                   console);
  }
  const PlanAlternative* any = plans.any;
  if (any == nullptr || !any->iteration_time_s || any->reason.empty()) return;
  PrintParagraph(
      absl::StrCat(
          "at least ",
          FormatPercent(1 - *any->iteration_time_s / result.iteration_time_s()),
          " faster with --runtime any, ", FormatSeconds(*any->iteration_time_s),
          ", but ", any->reason),
      console);
}

void PrintAlternatives(const AnswerView& view, Console& console) {
  const PlanResult& result = view.file.result;
  if (view.file.constraints.runtime == kAutoRuntime) {
    // Without a plan, the reason has those of all frameworks.
    if (result.plan) PrintFrameworks(view, console);
    return;
  }
  if (result.alternatives.empty()) return;
  console.out << "\n" << Styled(console, Style::kBold, "Parallelizers") << "\n";
  Table table({{.title = "slice plans of", .is_elastic = true},
               {"runtime"},
               {"iteration", Table::kRight}});
  for (const PlanAlternative& alternative : result.alternatives) {
    table.AddRow({absl::StrJoin(alternative.parallelizers, ", "),
                  alternative.runtime,
                  alternative.iteration_time_s
                      ? FormatSeconds(*alternative.iteration_time_s)
                      : absl::StrCat("none: ", alternative.reason)});
  }
  console.out << table.ToString(console.width);
}

// "+1.4 %"; "0" for no change at all.
std::string ChangeText(double change) {
  const std::string text = absl::StrFormat("%+.1f %%", 100 * change);
  return text == "+0.0 %" || text == "-0.0 %" ? "0" : text;
}

void PrintGuesses(const AnswerView& view, Console& console) {
  const std::vector<GuessEffect>& guesses = view.guesses;
  if (guesses.empty()) return;
  const int percent = static_cast<int>(100 * kGuessError);
  console.out << "\n"
              << Styled(console, Style::kBold,
                        "Guessed, and how the iteration changes with it")
              << "\n";
  Table table({{.title = "rate", .is_elastic = true},
               {"assumed", Table::kRight},
               {absl::StrCat(percent, " % less"), Table::kRight},
               {absl::StrCat(percent, " % more"), Table::kRight},
               {.title = "by", .drop = 1, .is_elastic = true}});
  size_t shown = 0;
  for (const GuessEffect& effect : guesses) {
    if (effect.size() < kSmallestEffect) continue;
    if (shown == kMostGuesses && view.detail != Detail::kAll) break;
    ++shown;
    table.AddRow({effect.guess.name, effect.guess.value,
                  ChangeText(effect.if_less), ChangeText(effect.if_more),
                  effect.guess.source});
  }
  if (shown > 0) console.out << table.ToString(console.width);
  const auto others = static_cast<int64_t>(guesses.size() - shown);
  if (others > 0) {
    PrintParagraph(
        absl::StrCat(shown > 0 ? "less: " : "nearly nothing: ",
                     FormatItems(others, shown > 0 ? "other rate" : "rate"),
                     "; --verbose lists all that was assumed"),
        console);
  }
}

// Whether a note tells how the search went, which changes nothing for those who
// run the plan.
bool IsAboutSearch(const std::string& note) {
  return absl::StartsWith(note, "pipeline microbatch sizes tried") ||
         absl::StartsWith(note, "polished by") ||
         absl::StrContains(note, ", one for each value of what its stages") ||
         absl::StartsWith(note, "runtime auto: ");
}

// Returns the notes that those who run the plan must know and that are not in
// the headline.
std::vector<std::string> NotesToShow(const AnswerView& view) {
  std::vector<std::string> notes = view.file.result.notes;
  if (view.detail == Detail::kAll) return notes;
  std::set<std::string> lost;
  for (const PlanTaker& taker : view.takers) {
    lost.insert(taker.losses.begin(), taker.losses.end());
  }
  const auto is_said = [&](const std::string& note) {
    return IsAboutSearch(note) ||
           absl::c_any_of(lost, [&](const std::string& loss) {
             return absl::EndsWith(note, loss);
           });
  };
  notes.erase(std::remove_if(notes.begin(), notes.end(), is_said), notes.end());
  return notes;
}

void PrintPlan(const PlanFile& file, Console& console) {
  console.out << "\n";
  if (file.result.replicated_plan) {
    PrintPipelines(file, console);
    return;
  }
  PrintStages(file, console);
  PrintViolations(file.result.evaluation, console);
}

}  // namespace

void PrintAnswer(const AnswerView& view, Console& console) {
  PrintHeadline(view, console);
  if (view.detail == Detail::kBrief) return;
  const PlanFile& file = view.file;
  const PlanResult& result = file.result;
  if (!result.islands.empty()) {
    console.out << "\n";
    PrintIslandTable(file.cluster, result.islands, UsesOf(result), console);
    PrintUnusedIslands(result, console);
  }
  if (result.has_plan()) PrintPlan(file, console);
  PrintGuesses(view, console);
  PrintAlternatives(view, console);
  if (view.detail == Detail::kAll) {
    if (result.has_plan()) {
      console.out << "\n";
      PrintPrediction(result, console);
      PrintCertificate(result, console);
    }
    PrintAssumptions(file.cluster, std::numeric_limits<int>::max(), console);
  }
  PrintNotes(NotesToShow(view), console);
}

}  // namespace tangram
