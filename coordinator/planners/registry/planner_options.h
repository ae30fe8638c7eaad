#ifndef TANGRAM_COORDINATOR_PLANNERS_REGISTRY_PLANNER_OPTIONS_H_
#define TANGRAM_COORDINATOR_PLANNERS_REGISTRY_PLANNER_OPTIONS_H_

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tangram {

// An option that one planner has.
struct PlannerOption {
  enum class Type { kBool, kInteger, kNumber, kChoice };

  std::string name;  // "max_search_steps"
  Type type = Type::kNumber;
  std::string default_value;  // As it would be typed.
  std::string description;    // A verb phrase; one line.
  // Of integers and numbers, both included.
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices;  // Of kChoice.
};

// Options as they are typed: name → value.
using PlannerOptionText = std::map<std::string, std::string>;

// The values of all of a planner's options. Only those that ParseOptions makes
// exist, so every name is known and every value is within its range.
class PlannerOptionValues {
 public:
  // `name` must be an option of the planner, and of that type.
  bool Bool(absl::string_view name) const;
  int64_t Integer(absl::string_view name) const;
  double Number(absl::string_view name) const;
  const std::string& Choice(absl::string_view name) const;

  // Whether the caller gave it, and did not leave it at its default.
  bool IsGiven(absl::string_view name) const;

 private:
  friend absl::StatusOr<PlannerOptionValues> ParseOptions(
      absl::string_view planner, absl::Span<const PlannerOption> options,
      const PlannerOptionText& given);

  struct Value {
    bool given = false;
    double number = 0;    // Booleans too.
    int64_t integer = 0;  // Exact, beyond 2^53.
    std::string text;
  };

  const Value& Get(absl::string_view name) const;

  std::map<std::string, Value, std::less<>> values_;
};

// kInvalidArgument naming the option, its value and what was expected:
// "planner_options.finalist_slack: 20; expected a number from 0 to 1".
absl::StatusOr<PlannerOptionValues> ParseOptions(
    absl::string_view planner, absl::Span<const PlannerOption> options,
    const PlannerOptionText& given);

// "a number from 0 to 1", "true or false": what values an option takes.
std::string DescribeValues(const PlannerOption& option);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_REGISTRY_PLANNER_OPTIONS_H_
