#ifndef TANGRAM_COORDINATOR_PLANNERS_POLISH_PLAN_SCHEDULES_H_
#define TANGRAM_COORDINATOR_PLANNERS_POLISH_PLAN_SCHEDULES_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/runtime.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "common/sim/evaluate_plan.h"

namespace tangram {

// A plan of 1F1B under other schedules.

// Returns the plan under each schedule that the rules allow and that may be
// faster by at least the fraction `least_gain`: ZB-H1, interleaved with several
// numbers of chunks, and 1F1B with more warm-up passes, or GPipe for runtimes.
// `evaluation` is that of the plan. They may be invalid, or not fit. None for
// plans that are not of plain 1F1B, and where transfers block, which other
// schedules than 1F1B are not played with.
std::vector<PipelinePlan> OtherSchedules(const PlanRequest& request,
                                         const PipelineRules& rules,
                                         const PipelinePlan& plan,
                                         const Evaluation& evaluation,
                                         double least_gain);

// The time of a stage for one microbatch, and that of its transfers to and from
// the next stage.
struct PassSeconds {
  double stage_s = 0;
  double border_s = 0;
};

// Returns the time of a microbatch in the steady state of 1F1B, if stage s runs
// w_s forward passes before its first backward pass and sends block nothing:
//   Π = max_{s ≤ u} (Σ_{v=s..u} t_v + Σ_{v=s..u−1} c_v) / (w_s − w_u + 1).
double PeriodSeconds(absl::Span<const PassSeconds> stages,
                     absl::Span<const int> warm_up);

// Returns the fewest warm-up passes, or nearly so, with a period of at most
// `most_s`, which must be at least the time of the slowest stage. The last
// stage has one.
std::vector<int> WarmUpFor(absl::Span<const PassSeconds> stages, double most_s);

// Returns the numbers of chunks that are tried for the plan: two, and the
// smallest divisors, but 1, of the numbers of layers that stages have, with at
// least a layer in each chunk.
std::vector<int> ChunkCounts(const ModelSpec& model, const PipelinePlan& plan);

// The chunks of a device that get the layers that are left over: those where
// the cuts are nearest to equal parts, the first, or the last.
enum class Remainder { kNearest, kFirst, kLast };

// Returns the plan with `chunks` stages on each device, with equal parts of the
// layers that it has in `plan`, cut where `cuts` allows. With first or last,
// stages begin and end between layers, and devices keep their numbers of
// layers. Empty: a chunk would be empty.
std::optional<PipelinePlan> Interleaved(
    const ModelSpec& model, Runtime::Cuts cuts, int chunks,
    const PipelinePlan& plan, Remainder remainder = Remainder::kNearest);

// Returns the plan with `chunks` stages on each device that take about as long
// each, whichever device they are on. So devices may have other numbers of
// layers than in `plan`, of which `evaluation` is: where microbatches are few,
// the longest chunk counts for as much as the slowest device. Empty: a chunk
// would be empty.
std::optional<PipelinePlan> EvenChunks(const ModelSpec& model,
                                       Runtime::Cuts cuts, int chunks,
                                       const PipelinePlan& plan,
                                       const Evaluation& evaluation);

// Returns the plans with `chunks` stages on each device that differ, for all
// remainders.
std::vector<PipelinePlan> AllInterleaved(const ModelSpec& model,
                                         Runtime::Cuts cuts, int chunks,
                                         const PipelinePlan& plan);

// Returns the plan of 1F1B whose devices have as many layers each. Nothing is
// recomputed.
PipelinePlan WithoutChunks(const PipelinePlan& plan);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_POLISH_PLAN_SCHEDULES_H_
