#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_RUNTIME_NOTES_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_RUNTIME_NOTES_H_

#include <optional>

#include "absl/types/span.h"
#include "common/domain/device.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/runtime_catalogue.h"

namespace tangram {

// Notes each difference between what `asked` asks for and what `runtime` does.
// `planned` is the request with the options with which it trains.
void NoteLosses(const PlanningRuntime& runtime, const PlanRequest& asked,
                const PlanRequest& planned, PlanResult& result);

// Notes that a plan has GPUs of one collective library, if there are several.
void NoteLibraries(const PlanningRuntime& runtime,
                   absl::Span<const std::optional<CollectiveLibrary>> libraries,
                   PlanResult& result);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_RUNTIME_NOTES_H_
