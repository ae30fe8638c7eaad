#ifndef TANGRAM_COORDINATOR_PLANNERS_REGISTRY_PLANNER_OPTIONS_H_
#define TANGRAM_COORDINATOR_PLANNERS_REGISTRY_PLANNER_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/infinity.h"

namespace tangram {

// An option of one planner.
struct PlannerOption {
  enum class Type { kBool, kInteger, kNumber, kChoice };

  std::string name;  // "max_search_steps"
  Type type = Type::kNumber;
  std::string default_value;  // In the form in which users type it.
  std::string description;    // A verb phrase; one line.
  // Range of integers and numbers, both ends included.
  double least = 0;
  double most = kInfinity;
  std::vector<std::string> choices;  // Values of a kChoice option.
};

// Options as users type them: name → value.
using PlannerOptionText = std::map<std::string, std::string>;

// The values of all options of a planner. Only ParseOptions makes them, so
// every name is known and every value is within its range.
class PlannerOptionValues {
 public:
  // `name` must be an option of the planner and have that type.
  bool Bool(absl::string_view name) const;
  int64_t Integer(absl::string_view name) const;
  double Number(absl::string_view name) const;
  const std::string& Choice(absl::string_view name) const;

  // Returns whether the caller gave a value, even if it is the default.
  bool IsGiven(absl::string_view name) const;

 private:
  friend absl::StatusOr<PlannerOptionValues> ParseOptions(
      absl::string_view planner, absl::Span<const PlannerOption> options,
      const PlannerOptionText& given);

  struct Value {
    bool given = false;
    double number = 0;    // Also the value of booleans: 0 or 1.
    int64_t integer = 0;  // Exact beyond 2^53.
    std::string text;
  };

  const Value& Get(absl::string_view name) const;

  std::map<std::string, Value, std::less<>> values_;
};

// Returns the values in `given`, with defaults for the other options. Errors:
// kInvalidArgument naming the option, its value and the expected values:
// "planner_options.finalist_slack: 20; expected a number from 0 to 1".
absl::StatusOr<PlannerOptionValues> ParseOptions(
    absl::string_view planner, absl::Span<const PlannerOption> options,
    const PlannerOptionText& given);

// Returns the values that an option takes, in words: "a number from 0 to 1",
// "true or false".
std::string DescribeValues(const PlannerOption& option);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_REGISTRY_PLANNER_OPTIONS_H_
