#include "cli/print/print_certificate.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cli/print/table.h"
#include "common/base/format.h"

namespace tangram {
namespace {

constexpr int kFigureColumn = 19;

// A set of plans with a lower bound in seconds on their times; 0: none.
struct Scope {
  absl::string_view plans;
  double bound_s = 0;
};

std::string LineOf(const Scope& scope, double iteration_time_s) {
  if (scope.bound_s <= 0) {
    return absl::StrCat("nothing is proven about ", scope.plans);
  }
  const double above = iteration_time_s / scope.bound_s - 1;
  return absl::StrCat(
      above < 0 ? "below"
                : absl::StrCat("at most ", FormatPercent(above), " above"),
      " ", scope.plans, " (", FormatSeconds(scope.bound_s), " or more)");
}

std::vector<Scope> ScopesOf(const PlanResult& result) {
  const Scope answered = {"any composition of the slice plans",
                          result.lower_bound_s};
  if (!result.certificate.has_value()) {
    return result.lower_bound_s > 0 ? std::vector<Scope>{answered}
                                    : std::vector<Scope>{};
  }
  return {
      answered,
      {"any 1F1B pipeline of the parallelizers", result.certificate->asked_s},
      {"any plan at all, by compute and memory",
       result.certificate->any_plan_s}};
}

}  // namespace

void PrintCertificate(const PlanResult& result, Console& console) {
  const double iteration_time_s = result.iteration_time_s();
  if (iteration_time_s <= 0) return;
  absl::string_view label = "certificate";
  for (const Scope& scope : ScopesOf(result)) {
    console.out << LabelledText(label, LineOf(scope, iteration_time_s),
                                kFigureColumn, console.width);
    label = "";
  }
}

}  // namespace tangram
