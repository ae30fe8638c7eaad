#include "cli/print/print_diff.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "cli/print/answer_json.h"
#include "cli/print/band_text.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "common/sim/stage_labels.h"

namespace tangram {
namespace {

bool IsShare(const std::string& field) {
  return absl::EndsWith(field, "fraction") ||
         absl::EndsWith(field, "utilization");
}

// Formats a figure in the unit that its field's name ends in.
std::string FormatFigure(const std::string& field, double value) {
  if (absl::EndsWith(field, "bytes_per_s")) return FormatBandwidth(value);
  if (absl::EndsWith(field, "tokens_per_s")) {
    return FormatThousands(std::llround(value));
  }
  if (absl::EndsWith(field, "_s")) return FormatSeconds(value);
  if (absl::EndsWith(field, "bytes")) return FormatBytes(value);
  if (IsShare(field)) return FormatPercent(value);
  return FormatCount(value);
}

std::string FormatValue(const std::string& field, const DiffValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return FormatThousands(*number);
  }
  if (const auto* is_on = std::get_if<bool>(&value)) {
    return *is_on ? "yes" : "no";
  }
  return FormatFigure(field, std::get<double>(value));
}

// Returns the field's name as words, without the unit, which stands with the
// value: "peak_bytes" -> "peak".
std::string Words(const std::string& field) {
  absl::string_view name = field;
  for (const char* unit : {"_bytes_per_s", "_bytes", "_fraction"}) {
    if (absl::ConsumeSuffix(&name, unit)) break;
  }
  const bool is_rate = absl::ConsumeSuffix(&name, "_per_s");
  if (!is_rate) absl::ConsumeSuffix(&name, "_s");
  return absl::StrCat(absl::StrReplaceAll(name, {{"_", " "}}),
                      is_rate ? "/s" : "");
}

// Returns the relative change from a to b, "+12.3 %". Empty for values without
// one: names, fractions, and changes from 0.
std::string Change(const Difference& difference) {
  const auto* a = std::get_if<double>(&difference.a);
  const auto* b = std::get_if<double>(&difference.b);
  if (a == nullptr || b == nullptr || *a == 0) return "";
  if (IsShare(difference.field)) return "";
  return absl::StrFormat("%+.1f %%", 100 * (*b / *a - 1));
}

// Longer values are printed on lines of their own, below the table. Two of this
// width, the field and the change fit in 100 columns.
constexpr size_t kMaxCell = 32;

// Prints one line for each field that differs as a whole.
void PrintFields(const ComparedPlans& plans, Console& console) {
  Table table({{""},
               {.title = plans.name_a, .is_elastic = true},
               {.title = plans.name_b, .is_elastic = true},
               {"", Table::kRight}});
  std::string long_values;
  const auto add = [&](const char* part, const std::vector<Difference>& rows) {
    for (const Difference& row : rows) {
      const std::string name = absl::StrCat(part, Words(row.field));
      const std::string a = FormatValue(row.field, row.a);
      const std::string b = FormatValue(row.field, row.b);
      if (a.size() <= kMaxCell && b.size() <= kMaxCell) {
        table.AddRow({name, a, b, Change(row)});
      } else {
        absl::StrAppend(&long_values,
                        WrapText(absl::StrCat(name, ": ", a, " -> ", b),
                                 /*indent=*/2, console.width));
      }
    }
  };
  add("", plans.diff.prediction);
  add("", plans.diff.plan);
  add("model: ", plans.diff.model);
  add("cluster: ", plans.diff.cluster);
  add("training: ", plans.diff.training);
  console.out << table.ToString(console.width) << long_values;
}

// A column of the tables of stages. There is none for "gpus", because "where"
// names the GPUs.
struct StageField {
  const char* field;
  const char* title;
};
constexpr StageField kChoices[] = {
    {"where", "where"},
    {"tp_degree", "tp"},
    {"tp_y_degree", "tp y"},
    {"cp_degree", "cp"},
    {"dp_degree", "dp"},
    {"ep_degree", "ep"},
    {"fsep", "fsep"},
    {"zero_stage", "zero"},
    {"zero_degree", "zero over"},
    {"sequence_parallel", "seq. par."},
    {"microbatch_size", "samples"},
    {"recompute", "recompute"},
    {"offload", "offload"},
    {"sharing", "sharing"},
    {"groups", "groups"},
};
constexpr StageField kFigures[] = {
    {"microbatch_s", "time of a microbatch"},
    {"peak_bytes", "memory"},
};

std::string Both(const std::string& a, const std::string& b) {
  return a == b ? a : absl::StrCat(a, " -> ", b);
}

// Returns "a -> b" for one field of a stage. Empty if the values are equal or
// print alike.
std::string Cell(const StageDifference& stage, const char* field) {
  for (const Difference& difference : stage.differences) {
    if (difference.field != field) continue;
    const std::string a = FormatValue(field, difference.a);
    const std::string b = FormatValue(field, difference.b);
    return a == b ? "" : absl::StrCat(a, " -> ", b);
  }
  return "";
}

// Prints only differences: a stage without any has no line, and a field that is
// equal in all stages has no column.
void PrintStages(const ComparedPlans& plans, const char* title,
                 absl::Span<const StageField> fields, Console& console) {
  std::vector<Table::Column> columns = {{"layers"}, {"stage"}};
  for (const StageField& field : fields) columns.push_back({field.title});
  Table table(std::move(columns));
  bool any = false;
  for (const StageDifference& stage : plans.diff.stages) {
    std::vector<std::string> cells = {
        LayersLabel(plans.a.model, stage.begin, stage.end),
        Both(absl::StrCat(stage.stage_a), absl::StrCat(stage.stage_b))};
    bool differs = false;
    for (const StageField& field : fields) {
      differs |= !cells.emplace_back(Cell(stage, field.field)).empty();
    }
    if (differs) table.AddRow(std::move(cells));
    any |= differs;
  }
  if (!any) return;
  console.out << "\n"
              << Styled(console, Style::kBold, title) << "\n"
              << table.ToString();
}

// Prints one line for each field that differs in a group of a mixed stage.
void PrintGroups(const ComparedPlans& plans, Console& console) {
  Table table(
      {{"stage"}, {""}, {plans.name_a}, {plans.name_b}, {"", Table::kRight}});
  bool any = false;
  for (const StageDifference& stage : plans.diff.stages) {
    for (const Difference& row : stage.differences) {
      if (!absl::StartsWith(row.field, "groups[")) continue;
      any = true;
      table.AddRow(
          {Both(absl::StrCat(stage.stage_a), absl::StrCat(stage.stage_b)),
           Words(row.field), FormatValue(row.field, row.a),
           FormatValue(row.field, row.b), Change(row)});
    }
  }
  if (!any) return;
  console.out << "\n"
              << Styled(console, Style::kBold, "Groups of stages") << "\n"
              << table.ToString();
}

using Json = nlohmann::ordered_json;

Json View(const std::vector<Difference>& differences) {
  Json view = Json::array();
  for (const Difference& difference : differences) {
    Json entry = {{"field", difference.field}};
    std::visit([&](const auto& value) { entry["a"] = value; }, difference.a);
    std::visit([&](const auto& value) { entry["b"] = value; }, difference.b);
    view.push_back(std::move(entry));
  }
  return view;
}

Json View(const ModelSpec& model, const StageDifference& stage) {
  return {{"layers", LayersLabel(model, stage.begin, stage.end)},
          {"begin", {{"layer", stage.begin.layer}, {"op", stage.begin.op}}},
          {"end", {{"layer", stage.end.layer}, {"op", stage.end.op}}},
          {"stage_a", stage.stage_a},
          {"stage_b", stage.stage_b},
          {"differences", View(stage.differences)}};
}

}  // namespace

namespace {

// Only answers to the same request compete.
bool PlansTie(const ComparedPlans& plans) {
  return plans.diff.model.empty() && plans.diff.cluster.empty() &&
         plans.a.result.has_plan() && plans.b.result.has_plan() &&
         Tie(plans.a.result, plans.b.result);
}

}  // namespace

void PrintDiff(const ComparedPlans& plans, Console& console) {
  if (plans.diff.same()) {
    console.out << plans.name_a << " and " << plans.name_b
                << " are the same plan\n";
    return;
  }
  console.out << Styled(console, Style::kBold, "Differences") << "\n";
  PrintFields(plans, console);
  if (PlansTie(plans)) {
    console.out << "  The times differ by less than predictions can tell "
                   "apart: a tie.\n";
  }
  PrintStages(plans, "How the same layers are run", kChoices, console);
  PrintStages(plans, "What their stages take", kFigures, console);
  PrintGroups(plans, console);
}

void PrintDiffAsJson(const ComparedPlans& plans, Console& console) {
  Json stages = Json::array();
  for (const StageDifference& stage : plans.diff.stages) {
    stages.push_back(View(plans.a.model, stage));
  }
  const Json view = {{"format_version", "tangram.diff/v1"},
                     {"a", plans.name_a},
                     {"b", plans.name_b},
                     {"same", plans.diff.same()},
                     {"tie", PlansTie(plans)},
                     {"prediction", View(plans.diff.prediction)},
                     {"plan", View(plans.diff.plan)},
                     {"model", View(plans.diff.model)},
                     {"cluster", View(plans.diff.cluster)},
                     {"training", View(plans.diff.training)},
                     {"stages", std::move(stages)}};
  PrintJson(view, console);
}

}  // namespace tangram
