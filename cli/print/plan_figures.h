#ifndef TANGRAM_CLI_PRINT_PLAN_FIGURES_H_
#define TANGRAM_CLI_PRINT_PLAN_FIGURES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/domain/pipeline_plan.h"
#include "common/planner/cluster_planner.h"
#include "common/sim/compare_plans.h"
#include "common/wire/plan_file.h"

namespace tangram {

// Returns the pipelines of a plan, with their evaluations.
std::vector<EvaluatedPlan> PipelinesOf(const PlanResult& result);

// The figures of a plan by which plans are compared.
struct PlanFigures {
  double iteration_time_s = 0;
  std::optional<double> predicted_s;  // The planner's own estimate.
  double memory_fraction = 0;         // The fullest GPU's.
  int num_gpus = 0;
  int num_stages = 0;
  int num_pipelines = 1;
  double planning_s = 0;

  double prediction_error() const {
    return *predicted_s / iteration_time_s - 1;
  }
};
// The file must have a plan.
PlanFigures FiguresOf(const PlanFile& file);

// The GPU with the least free memory, as a share of it.
struct Fullest {
  const StageEvaluation* stage = nullptr;  // Null: there is no stage.
  std::string name;                        // "stage 3", "pipeline 1, stage 3"
};
// Refers to the evaluations of `pipelines`.
Fullest FullestOf(absl::Span<const EvaluatedPlan> pipelines);

// Returns the tokens of a second with the plan of `result`.
double TokensPerSecond(const PlanResult& result);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_PLAN_FIGURES_H_
