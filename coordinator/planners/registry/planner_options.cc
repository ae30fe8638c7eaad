#include "coordinator/planners/registry/planner_options.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/check.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

using Type = PlannerOption::Type;

absl::Status BadOption(absl::string_view name, absl::string_view found,
                       absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(
      "planner_options.", name, ": ", found, "; expected ", expected));
}

std::string NamesOf(absl::Span<const PlannerOption> options) {
  return absl::StrJoin(options, ", ",
                       [](std::string* out, const PlannerOption& option) {
                         out->append(option.name);
                       });
}

}  // namespace

std::string DescribeValues(const PlannerOption& option) {
  switch (option.type) {
    case Type::kBool:
      return "true or false";
    case Type::kChoice:
      return absl::StrJoin(option.choices, " or ");
    case Type::kInteger:
    case Type::kNumber:
      break;
  }
  const char* kind =
      option.type == Type::kInteger ? "a whole number" : "a number";
  return std::isinf(option.most)
             ? absl::StrCat(kind, " of at least ", option.least)
             : absl::StrCat(kind, " from ", option.least, " to ", option.most);
}

absl::StatusOr<PlannerOptionValues> ParseOptions(
    absl::string_view planner, absl::Span<const PlannerOption> options,
    const PlannerOptionText& given) {
  for (const auto& [name, text] : given) {
    const bool known = std::any_of(
        options.begin(), options.end(),
        [&wanted = name](const PlannerOption& o) { return o.name == wanted; });
    if (known) continue;
    return BadOption(name, text.empty() ? "given" : text,
                     absl::StrCat("an option of planner ", planner, ": ",
                                  options.empty() ? "none" : NamesOf(options)));
  }
  PlannerOptionValues values;
  for (const PlannerOption& option : options) {
    const auto it = given.find(option.name);
    PlannerOptionValues::Value value{.given = it != given.end()};
    value.text = value.given ? it->second : option.default_value;
    bool ok = false;
    switch (option.type) {
      case Type::kBool: {
        bool flag = false;
        ok = absl::SimpleAtob(value.text, &flag);
        value.integer = flag ? 1 : 0;
        break;
      }
      case Type::kInteger:
        ok = absl::SimpleAtoi(value.text, &value.integer) &&
             static_cast<double>(value.integer) >= option.least &&
             static_cast<double>(value.integer) <= option.most;
        break;
      case Type::kNumber:
        // No range contains NaN.
        ok = absl::SimpleAtod(value.text, &value.number) &&
             std::isfinite(value.number) && value.number >= option.least &&
             value.number <= option.most;
        break;
      case Type::kChoice:
        ok = std::find(option.choices.begin(), option.choices.end(),
                       value.text) != option.choices.end();
        break;
    }
    if (!ok) return BadOption(option.name, value.text, DescribeValues(option));
    values.values_.emplace(option.name, std::move(value));
  }
  return values;
}

const PlannerOptionValues::Value& PlannerOptionValues::Get(
    absl::string_view name) const {
  const auto it = values_.find(name);
  TANGRAM_CHECK(it != values_.end());
  return it->second;
}

bool PlannerOptionValues::Bool(absl::string_view name) const {
  return Get(name).integer != 0;
}
int64_t PlannerOptionValues::Integer(absl::string_view name) const {
  return Get(name).integer;
}
double PlannerOptionValues::Number(absl::string_view name) const {
  return Get(name).number;
}
const std::string& PlannerOptionValues::Choice(absl::string_view name) const {
  return Get(name).text;
}
bool PlannerOptionValues::IsGiven(absl::string_view name) const {
  return Get(name).given;
}

}  // namespace tangram
