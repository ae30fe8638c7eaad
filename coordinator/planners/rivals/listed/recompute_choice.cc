#include "coordinator/planners/rivals/listed/recompute_choice.h"

#include "absl/strings/str_cat.h"

namespace tangram {

PlannerOption RecomputeOption(const std::string& automatic) {
  return {.name = "recompute",
          .type = PlannerOption::Type::kChoice,
          .default_value = "auto",
          .description = absl::StrCat(
              "what transformer layers run again; auto: ", automatic),
          .choices = {"none", "full", "auto"}};
}

std::vector<LayerRecompute> RecomputesToTry(absl::string_view value) {
  if (value == "none") return {LayerRecompute::kNone};
  if (value == "full") return {LayerRecompute::kWholeLayer};
  return {LayerRecompute::kNone, LayerRecompute::kWholeLayer};
}

}  // namespace tangram
