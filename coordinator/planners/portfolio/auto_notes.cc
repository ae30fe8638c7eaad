#include "coordinator/planners/portfolio/auto_notes.h"

#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/planner/fastest_on_own_data.h"

namespace tangram {
namespace {

std::string AnswerNote(const PlanningRuntime& chosen,
                       absl::Span<const PlanAlternative> frameworks) {
  int num_searched = 0;
  int num_plans = 0;
  for (const PlanAlternative& entry : frameworks) {
    num_searched += entry.was_searched() ? 1 : 0;
    num_plans += entry.iteration_time_s.has_value() ? 1 : 0;
  }
  const std::string among =
      num_searched == 1 ? "the only framework that was searched"
                        : absl::StrCat("the fastest; ", num_plans, " of ",
                                       num_searched, " frameworks have a plan");
  return absl::StrCat("runtime auto: planned for ", chosen.name(), ", ", among);
}

// Returns one note for all runtimes that were not searched for one reason.
std::vector<std::string> NotSearched(
    absl::Span<const PlanAlternative> frameworks) {
  using Reason = std::pair<std::string, std::vector<std::string>>;
  std::vector<Reason> reasons;  // With names of runtimes.
  for (const PlanAlternative& entry : frameworks) {
    if (entry.was_searched()) continue;
    auto same = absl::c_find_if(reasons, [&](const Reason& reason) {
      return reason.first == entry.reason;
    });
    if (same == reasons.end()) same = reasons.insert(same, {entry.reason, {}});
    same->second.push_back(entry.runtime);
  }
  std::vector<std::string> notes;
  for (const auto& [reason, names] : reasons) {
    notes.push_back(absl::StrCat("runtime auto: not searched: ",
                                 absl::StrJoin(names, ", "), ": ", reason));
  }
  return notes;
}

// Says what to do where `chosen` reads no data of the user.
std::string OnOwnData(const PlanningRuntime& chosen,
                      absl::Span<const PlanAlternative> frameworks,
                      const RuntimeCatalogue& runtimes) {
  const std::string no_data =
      absl::StrCat("runtime auto: ", chosen.name(), " reads no data of yours");
  if (const auto* fastest = FastestOnOwnData(frameworks, runtimes)) {
    return absl::StrCat(no_data, "; of the frameworks that do, ",
                        fastest->runtime, " has the fastest plan");
  }
  const bool all_searched = absl::c_all_of(
      frameworks,
      [](const PlanAlternative& entry) { return entry.was_searched(); });
  return absl::StrCat(no_data, all_searched
                                   ? "; no framework that does has a plan"
                                   : "; of the frameworks that do, none that "
                                     "was searched has a plan");
}

}  // namespace

std::vector<std::string> AutoNotes(
    const PlanningRuntime& chosen,
    absl::Span<const PlanAlternative> alternatives,
    const RuntimeCatalogue& runtimes) {
  std::vector<PlanAlternative> frameworks;
  absl::c_copy_if(alternatives, std::back_inserter(frameworks),
                  [](const PlanAlternative& entry) {
                    return entry.runtime != kAnyRuntime;
                  });
  std::vector<std::string> notes = {AnswerNote(chosen, frameworks)};
  absl::c_copy(NotSearched(frameworks), std::back_inserter(notes));
  if (!chosen.ReadsData()) {
    notes.push_back(OnOwnData(chosen, frameworks, runtimes));
  }
  return notes;
}

}  // namespace tangram
