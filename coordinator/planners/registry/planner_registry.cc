#include "coordinator/planners/registry/planner_registry.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/check.h"
#include "common/base/status_macros.h"

namespace tangram {

void PlannerRegistry::Register(PlannerInfo planner) {
  for (const PlannerInfo& other : planners_) {
    TANGRAM_CHECK(other.name != planner.name);
  }
  planners_.push_back(std::move(planner));
}

absl::StatusOr<const PlannerInfo*> PlannerRegistry::Find(
    absl::string_view name) const {
  const absl::string_view wanted = name.empty() ? kDefaultPlanner : name;
  for (const PlannerInfo& planner : planners_) {
    if (planner.name == wanted) return &planner;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "planner: ", name, "; expected ",
      absl::StrJoin(planners_, " or ",
                    [](std::string* out, const PlannerInfo& planner) {
                      out->append(planner.name);
                    })));
}

absl::StatusOr<PlannerChoice> PlannerRegistry::Choose(
    absl::string_view name, const PlannerOptionText& options,
    const TangramOptions& search) const {
  PlannerChoice choice{.search = search};
  TANGRAM_ASSIGN_OR_RETURN(choice.planner, Find(name));
  TANGRAM_ASSIGN_OR_RETURN(
      choice.options,
      ParseOptions(choice.planner->name, choice.planner->options, options));
  if (choice.planner->apply) {
    choice.planner->apply(choice.options, choice.search);
  }
  return choice;
}

}  // namespace tangram
