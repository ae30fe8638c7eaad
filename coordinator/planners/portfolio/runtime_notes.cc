#include "coordinator/planners/portfolio/runtime_notes.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/planners/portfolio/combine_results.h"

namespace tangram {

void NoteLosses(const PlanningRuntime& runtime, const PlanRequest& asked,
                const PlanRequest& planned, PlanResult& result) {
  std::vector<std::string> losses;
  if (planned.training != asked.training) {
    result.training = planned.training;
    losses = runtime.TrainingLosses(asked.training);
  }
  if (result.plan.has_value()) {
    AddLimits(runtime.FrameworkLosses(planned, *result.plan), losses);
  }
  for (const std::string& loss : losses) {
    result.notes.push_back(
        absl::StrCat("runtime ", runtime.name(), ": ", loss));
  }
}

void NoteLibraries(const PlanningRuntime& runtime,
                   absl::Span<const std::optional<CollectiveLibrary>> libraries,
                   PlanResult& result) {
  if (libraries.size() < 2) return;
  result.notes.push_back(absl::StrCat(
      "runtime ", runtime.name(), ": planned for the GPUs of ",
      absl::StrJoin(libraries, ", of ",
                    [](std::string* out, const auto& library) {
                      absl::StrAppend(out, CollectiveLibraryName(*library));
                    }),
      " alone, as their collectives do not talk to each other"));
}

}  // namespace tangram
