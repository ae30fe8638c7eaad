#include "cli/print/print_frontier.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "coordinator/planners/frontier/lattice.h"
#include "nlohmann/json.hpp"

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kSecondsPerHour = 3600;

// "h100=2 a100=4".
std::string NameOf(const Frontier& frontier, const FrontierPoint& point,
                   absl::string_view separator) {
  std::vector<std::string> parts;
  for (size_t g = 0; g < frontier.groups.size(); ++g) {
    parts.push_back(absl::StrCat(frontier.groups[g], "=", point.nodes[g]));
  }
  return absl::StrJoin(parts, separator);
}

std::string FormatPrice(double price) {
  return price < 10 ? absl::StrFormat("%.3f", price)
                    : absl::StrFormat("%.2f", price);
}

// "16.1 s with t4=0 v100=4", if leaving nodes idle is faster.
std::string AtBest(const Frontier& frontier, const FrontierPoint& point) {
  if (!point.envelope_s.has_value()) return "";
  if (point.has_plan() && *point.envelope_s >= point.figures.iteration_time_s) {
    return "";
  }
  return absl::StrCat(
      FormatSeconds(*point.envelope_s), " with ",
      NameOf(frontier, frontier.points[point.envelope_at], " "));
}

// Returns the point with the least `cost` among those that `may` allows.
const FrontierPoint* Least(
    const Frontier& frontier,
    const std::function<double(const FrontierPoint&)>& cost,
    const std::function<bool(const FrontierPoint&)>& may = nullptr) {
  const FrontierPoint* least = nullptr;
  for (const FrontierPoint& point : frontier.points) {
    if (!point.has_plan() || (may && !may(point))) continue;
    if (least == nullptr || cost(point) < cost(*least)) least = &point;
  }
  return least;
}

// An answer to a usual question. Null: no allocation answers it.
struct Pick {
  std::string key;  // "fastest".
  std::string question;
  const FrontierPoint* point = nullptr;
};

std::vector<Pick> PicksOf(const Frontier& frontier) {
  const auto seconds = [](const FrontierPoint& point) {
    return point.figures.iteration_time_s;
  };
  const auto price = [&](const FrontierPoint& point) {
    return frontier.PricePerMillionTokens(point);
  };
  std::vector<Pick> picks = {{"fastest", "fastest", Least(frontier, seconds)}};
  if (frontier.has_prices()) {
    picks.push_back({"cheapest", "least a token", Least(frontier, price)});
  }
  if (!frontier.tokens.has_value()) return picks;
  const auto hours = [&](const FrontierPoint& point) {
    return frontier.HoursToTrain(point);
  };
  if (frontier.deadline_hours.has_value()) {
    picks.push_back(
        {"in_time",
         absl::StrFormat("%s within %g h",
                         frontier.has_prices() ? "cheapest" : "fewest GPUs",
                         *frontier.deadline_hours),
         Least(
             frontier,
             [&](const FrontierPoint& point) {
               return frontier.has_prices() ? price(point)
                                            : 1.0 * point.num_gpus;
             },
             [&](const FrontierPoint& point) {
               return hours(point) <= *frontier.deadline_hours;
             })});
  }
  if (frontier.budget.has_value() && frontier.has_prices()) {
    picks.push_back({"within_budget",
                     absl::StrFormat("fastest for %g", *frontier.budget),
                     Least(frontier, seconds, [&](const FrontierPoint& point) {
                       return hours(point) * frontier.PricePerHour(point) <=
                              *frontier.budget;
                     })});
  }
  return picks;
}

void PrintTable(const Frontier& frontier, Console& console) {
  std::vector<Table::Column> columns = {{""}};
  for (const std::string& group : frontier.groups) {
    columns.push_back({group, Table::kRight});
  }
  for (const char* title : {"GPUs", "iteration", "tokens/s", "hours", "price/h",
                            "price/Mtoken", "memory"}) {
    columns.push_back({title, Table::kRight});
  }
  columns.push_back({"at best"});
  Table table(std::move(columns));
  for (const FrontierPoint& point : frontier.points) {
    if (point.is_empty()) continue;
    std::vector<std::string> row = {point.on_front ? "*" : ""};
    for (const int nodes : point.nodes) row.push_back(absl::StrCat(nodes));
    row.push_back(absl::StrCat(point.num_gpus));
    if (point.has_plan()) {
      row.push_back(FormatSeconds(point.figures.iteration_time_s));
      row.push_back(FormatThousands(
          static_cast<int64_t>(frontier.TokensPerSecond(point))));
      row.push_back(frontier.tokens.has_value()
                        ? absl::StrFormat("%.1f", frontier.HoursToTrain(point))
                        : "");
      row.push_back(frontier.has_prices()
                        ? FormatPrice(frontier.PricePerHour(point))
                        : "");
      row.push_back(frontier.has_prices()
                        ? FormatPrice(frontier.PricePerMillionTokens(point))
                        : "");
      row.push_back(FormatPercent(point.figures.memory_fraction));
    } else {
      row.push_back(point.state == FrontierPoint::State::kPending
                        ? "not planned"
                        : "no plan");
      row.insert(row.end(), {"", "", "", "", ""});
    }
    row.push_back(AtBest(frontier, point));
    table.AddRow(std::move(row));
  }
  console.out << Styled(console, Style::kBold, "Allocations") << "\n"
              << table.ToString() << "\n"
              << WrapText(
                     absl::StrCat("*: no other is faster with as ",
                                  frontier.has_prices() ? "low a price an hour"
                                                        : "few GPUs"),
                     /*indent=*/2, console.width);
}

void PrintPicks(const Frontier& frontier, Console& console) {
  console.out << "\n" << Styled(console, Style::kBold, "Choices") << "\n";
  Table table({{"question"}, {"allocation"}, {"iteration", Table::kRight}});
  for (const Pick& pick : PicksOf(frontier)) {
    if (pick.point == nullptr) {
      table.AddRow({pick.question, "none", ""});
      continue;
    }
    table.AddRow({pick.question, NameOf(frontier, *pick.point, " "),
                  FormatSeconds(pick.point->figures.iteration_time_s)});
  }
  console.out << table.ToString();
}

// Prints each reason for having no plan once, with the allocations.
void PrintWhyNone(const Frontier& frontier, Console& console) {
  constexpr size_t kMostNamed = 3;
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const FrontierPoint& point : frontier.points) {
    if (point.is_empty() || point.state != FrontierPoint::State::kNoPlan) {
      continue;
    }
    auto known = std::find_if(
        reasons.begin(), reasons.end(),
        [&](const auto& reason) { return reason.first == point.why_none; });
    if (known == reasons.end()) {
      known = reasons.insert(known, {point.why_none, {}});
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

Json NodesOf(const Frontier& frontier, const FrontierPoint& point) {
  Json nodes = Json::object();
  for (size_t g = 0; g < frontier.groups.size(); ++g) {
    nodes[frontier.groups[g]] = point.nodes[g];
  }
  return nodes;
}

const char* StateName(FrontierPoint::State state) {
  switch (state) {
    case FrontierPoint::State::kPlanned:
      return "planned";
    case FrontierPoint::State::kNoPlan:
      return "no_plan";
    case FrontierPoint::State::kPending:
      return "pending";
  }
  return "";
}

Json View(const Frontier& frontier, const FrontierPoint& point) {
  Json view = {{"nodes", NodesOf(frontier, point)},
               {"gpus", point.num_gpus},
               {"state", StateName(point.state)}};
  if (point.has_plan()) {
    view["iteration_time_s"] = point.figures.iteration_time_s;
    view["tokens_per_s"] = frontier.TokensPerSecond(point);
    view["memory_fraction"] = point.figures.memory_fraction;
    view["gpus_used"] = point.figures.num_gpus;
    view["stages"] = point.figures.num_stages;
    view["on_front"] = point.on_front;
    if (frontier.tokens) view["hours"] = frontier.HoursToTrain(point);
    if (frontier.has_prices()) {
      view["price_per_hour"] = frontier.PricePerHour(point);
      view["price_per_million_tokens"] = frontier.PricePerMillionTokens(point);
    }
  } else if (!point.why_none.empty()) {
    view["reason"] = point.why_none;
  }
  if (point.envelope_s.has_value()) {
    view["envelope_s"] = *point.envelope_s;
    view["envelope_at"] = NodesOf(frontier, frontier.points[point.envelope_at]);
  }
  return view;
}

// Quotes a cell that has a separator, by RFC 4180.
std::string CsvCell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

}  // namespace

double Frontier::TokensPerSecond(const FrontierPoint& point) const {
  return static_cast<double>(tokens_per_iteration) /
         point.figures.iteration_time_s;
}

double Frontier::PricePerHour(const FrontierPoint& point) const {
  double price = 0;
  for (size_t g = 0; g < node_hour_prices.size(); ++g) {
    price += point.nodes[g] * node_hour_prices[g];
  }
  return price;
}

double Frontier::PricePerMillionTokens(const FrontierPoint& point) const {
  return PricePerHour(point) / kSecondsPerHour / TokensPerSecond(point) * 1e6;
}

double Frontier::HoursToTrain(const FrontierPoint& point) const {
  return *tokens / TokensPerSecond(point) / kSecondsPerHour;
}

void MarkFront(Frontier& frontier) {
  std::vector<std::optional<TimeAndPrice>> points;
  for (const FrontierPoint& point : frontier.points) {
    points.emplace_back();
    if (!point.has_plan()) continue;
    points.back() = {.seconds = point.figures.iteration_time_s,
                     .price = frontier.has_prices()
                                  ? frontier.PricePerHour(point)
                                  : point.num_gpus};
  }
  for (const int64_t i : ParetoFront(points)) {
    frontier.points[i].on_front = true;
  }
}

void PrintFrontier(const Frontier& frontier, Console& console) {
  PrintTable(frontier, console);
  PrintPicks(frontier, console);
  PrintWhyNone(frontier, console);
}

void PrintFrontierAsJson(const Frontier& frontier, Console& console) {
  Json points = Json::array();
  for (const FrontierPoint& point : frontier.points) {
    if (!point.is_empty()) points.push_back(View(frontier, point));
  }
  Json choices = Json::object();
  for (const Pick& pick : PicksOf(frontier)) {
    choices[pick.key] =
        pick.point == nullptr ? Json() : NodesOf(frontier, *pick.point);
  }
  const Json view = {{"format_version", "tangram.frontier/v1"},
                     {"groups", frontier.groups},
                     {"tokens_per_iteration", frontier.tokens_per_iteration},
                     {"choices", std::move(choices)},
                     {"allocations", std::move(points)}};
  constexpr int kIndent = 2;  // As in plan files.
  console.out << view.dump(kIndent, ' ', /*ensure_ascii=*/false,
                           Json::error_handler_t::replace)
              << "\n";
}

std::string FrontierAsCsv(const Frontier& frontier) {
  std::vector<std::string> header;
  for (const std::string& group : frontier.groups) {
    header.push_back(CsvCell(absl::StrCat("nodes_", group)));
  }
  for (const char* name :
       {"gpus", "state", "iteration_time_s", "tokens_per_s", "memory_fraction",
        "envelope_s", "on_front", "hours", "price_per_hour",
        "price_per_million_tokens", "reason"}) {
    header.emplace_back(name);
  }
  std::string csv = absl::StrJoin(header, ",") + "\r\n";
  const auto number = [](bool known, double value) {
    return known ? absl::StrFormat("%.17g", value) : std::string();
  };
  for (const FrontierPoint& point : frontier.points) {
    if (point.is_empty()) continue;
    std::vector<std::string> row;
    for (const int nodes : point.nodes) row.push_back(absl::StrCat(nodes));
    const bool planned = point.has_plan();
    const bool priced = planned && frontier.has_prices();
    row.push_back(absl::StrCat(point.num_gpus));
    row.emplace_back(StateName(point.state));
    row.push_back(number(planned, point.figures.iteration_time_s));
    row.push_back(
        number(planned, planned ? frontier.TokensPerSecond(point) : 0));
    row.push_back(number(planned, point.figures.memory_fraction));
    row.push_back(
        number(point.envelope_s.has_value(), point.envelope_s.value_or(0)));
    row.emplace_back(!planned ? "" : point.on_front ? "1" : "0");
    row.push_back(
        number(planned && frontier.tokens,
               planned && frontier.tokens ? frontier.HoursToTrain(point) : 0));
    row.push_back(number(priced, priced ? frontier.PricePerHour(point) : 0));
    row.push_back(
        number(priced, priced ? frontier.PricePerMillionTokens(point) : 0));
    row.push_back(CsvCell(point.why_none));
    absl::StrAppend(&csv, absl::StrJoin(row, ","), "\r\n");
  }
  return csv;
}

}  // namespace tangram
