#include "cli/print/print_frontier.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/print/table.h"
#include "common/base/format.h"

namespace tangram {
namespace {

std::string FormatPrice(const std::optional<double>& price) {
  if (!price.has_value()) return "";
  return *price < 10 ? absl::StrFormat("%.3f", *price)
                     : absl::StrFormat("%.2f", *price);
}

// "16.1 s with t4=0 v100=4", if leaving nodes idle is faster.
std::string AtBest(const Frontier& frontier, const FrontierPoint& point) {
  if (!point.envelope_s.has_value()) return "";
  if (point.has_plan() && *point.envelope_s >= point.answer.iteration_time_s) {
    return "";
  }
  return absl::StrCat(
      FormatSeconds(*point.envelope_s), " with ",
      NameOf(frontier, frontier.points[point.envelope_at], " "));
}

// "*" on the front, "k" at its knee.
std::string MarkOf(const FrontierPoint& point) {
  if (point.is_knee) return "*k";
  return point.on_front ? "*" : "";
}

std::vector<std::string> FiguresOf(const Frontier& frontier,
                                   const FrontierPoint& point) {
  const ObjectiveValues& values = point.values;
  std::vector<std::string> figures = {
      FormatSeconds(point.answer.iteration_time_s),
      FormatThousands(static_cast<int64_t>(values.tokens_per_s)),
      !values.makes_progress()   ? "never"
      : values.hours.has_value() ? absl::StrFormat("%.1f", *values.hours)
                                 : "",
      FormatPrice(values.price_per_hour),
      FormatPrice(values.price_per_million_tokens)};
  if (frontier.shows_energy) {
    figures.push_back(
        values.kwh_per_million_tokens.has_value()
            ? absl::StrFormat("%.3g", *values.kwh_per_million_tokens)
            : "");
  }
  figures.push_back(FormatPercent(point.answer.memory_fraction));
  return figures;
}

void PrintTable(const Frontier& frontier, Console& console) {
  std::vector<Table::Column> columns = {{""}};
  for (const std::string& group : frontier.groups) {
    columns.push_back({group, Table::kRight});
  }
  std::vector<std::string> titles = {"iteration", "tokens/s", "hours",
                                     "price/h", "price/Mtoken"};
  if (frontier.shows_energy) titles.emplace_back("kWh/Mtoken");
  titles.emplace_back("memory");
  columns.push_back({"GPUs", Table::kRight});
  for (const std::string& title : titles) {
    columns.push_back({title, Table::kRight});
  }
  columns.push_back({"at best"});
  Table table(std::move(columns));
  for (const FrontierPoint& point : frontier.points) {
    std::vector<std::string> row = {MarkOf(point)};
    for (const int nodes : point.nodes) row.push_back(absl::StrCat(nodes));
    row.push_back(absl::StrCat(point.num_gpus));
    std::vector<std::string> figures(titles.size());
    if (point.has_plan()) {
      figures = FiguresOf(frontier, point);
    } else {
      figures.front() = point.answer.state == AllocationAnswer::State::kPending
                            ? "not planned"
                            : "no plan";
    }
    std::move(figures.begin(), figures.end(), std::back_inserter(row));
    row.push_back(AtBest(frontier, point));
    table.AddRow(std::move(row));
  }
  console.out << Styled(console, Style::kBold, "Allocations") << "\n"
              << table.ToString() << "\n"
              << WrapText(
                     absl::StrCat("*: no other is faster with as ",
                                  frontier.has_prices() ? "low a price an hour"
                                                        : "few GPUs",
                                  "; k: beyond it, more buys the least time"),
                     /*indent=*/2, console.width);
}

void PrintChoices(const Frontier& frontier, Console& console) {
  console.out << "\n" << Styled(console, Style::kBold, "Choices") << "\n";
  Table table({{"question"}, {"allocation"}, {"iteration", Table::kRight}});
  for (const FrontierChoice& choice : ChoicesOf(frontier)) {
    if (choice.point == nullptr) {
      table.AddRow({choice.question, "none", ""});
      continue;
    }
    table.AddRow({choice.question, NameOf(frontier, *choice.point, " "),
                  FormatSeconds(choice.point->answer.iteration_time_s)});
  }
  console.out << table.ToString();
}

// Prints each reason for having no plan once, with the allocations.
void PrintWhyNone(const Frontier& frontier, Console& console) {
  constexpr size_t kMostNamed = 3;
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const FrontierPoint& point : frontier.points) {
    if (point.answer.state != AllocationAnswer::State::kNoPlan) continue;
    auto known =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto& reason) {
          return reason.first == point.answer.why_none;
        });
    if (known == reasons.end()) {
      known = reasons.insert(known, {point.answer.why_none, {}});
    }
    known->second.push_back(NameOf(frontier, point, " "));
  }
  if (reasons.empty()) return;
  console.out << "\n"
              << Styled(console, Style::kBold, "Without a plan") << "\n";
  for (auto& [reason, names] : reasons) {
    const size_t more = names.size() - std::min(names.size(), kMostNamed);
    names.resize(names.size() - more);
    console.out << WrapText(
        absl::StrCat(absl::StrJoin(names, "; "),
                     more > 0 ? absl::StrCat(" and ", more, " more") : "", ": ",
                     reason),
        /*indent=*/2, console.width);
  }
}

}  // namespace

void PrintFrontier(const Frontier& frontier, Console& console) {
  PrintTable(frontier, console);
  PrintChoices(frontier, console);
  PrintWhyNone(frontier, console);
}

}  // namespace tangram
