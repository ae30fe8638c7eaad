#ifndef TANGRAM_COORDINATOR_PLANNERS_ANNEAL_MOVES_H_
#define TANGRAM_COORDINATOR_PLANNERS_ANNEAL_MOVES_H_

#include <array>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/pipeline_plan.h"
#include "common/sim/evaluate_plan.h"
#include "coordinator/planners/anneal/anneal_problem.h"
#include "coordinator/planners/anneal/draw.h"

// Random changes of whole plans. None checks that the result is legal or fits:
// the judge does.
namespace tangram::anneal {

// Where stages may end, by Runtime::Cuts (CutsOf).
using CutLists = std::array<std::vector<OperatorCut>, 3>;
CutLists CutListsOf(const ModelSpec& model);

struct MoveContext {
  const AnnealProblem& problem;
  const Evaluation& now;  // The plan before the first of several moves.
  Draw& draw;
  const CutLists& cuts;  // Those of the model.
};

struct Move {
  const char* name;
  int weight;  // Its chance among the moves of its list.
  // Returns false if the plan has nothing to change so.
  bool (*change)(const MoveContext& context, PipelinePlan& plan);
};

// Borders between stages, and what stages recompute or keep on the host.
absl::Span<const Move> SmallMoves();

// Degrees and options of stages, and the microbatch.
absl::Span<const Move> StageMoves();

// GPUs of stages, their number and their order.
absl::Span<const Move> GpuMoves();

// The schedule, its virtual stages and its warm-up passes.
absl::Span<const Move> ScheduleMoves();

// Draws a move by the weights.
const Move& DrawMove(absl::Span<const Move> moves, Draw& draw);

}  // namespace tangram::anneal

#endif  // TANGRAM_COORDINATOR_PLANNERS_ANNEAL_MOVES_H_
