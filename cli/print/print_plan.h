#ifndef TANGRAM_CLI_PRINT_PRINT_PLAN_H_
#define TANGRAM_CLI_PRINT_PRINT_PLAN_H_

#include "cli/print/console.h"
#include "common/wire/plan_file.h"

// The answer of `tangram plan` and `tangram evaluate` for people. A plan that
// is printed must be valid on its cluster.
namespace tangram {

// What is planned, on what, and how it is trained.
void PrintRequest(const Cluster& cluster, const ModelSpec& model,
                  const TrainingOptions& training, Console& console);

// One line a stage: where it runs, what, how, and what it takes.
void PrintStages(const PlanFile& file, Console& console);

// Iteration time, throughput, idle time and what does not fit.
void PrintPrediction(const Evaluation& evaluation, Console& console);

// All of it: islands, stages, prediction, certificate, what was left out and
// why, assumptions and notes; or why no plan fits.
void PrintPlanFile(const PlanFile& file, Console& console);

// What the next-best plans would have cost; nothing where none was found.
void PrintRunnersUp(const PlanResult& result, Console& console);

// Where planning time went, and how many pairs each step left.
void PrintPlanningCost(const PlanFile& file, Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_PRINT_PLAN_H_
