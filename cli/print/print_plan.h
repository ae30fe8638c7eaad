#ifndef TANGRAM_CLI_PRINT_PRINT_PLAN_H_
#define TANGRAM_CLI_PRINT_PRINT_PLAN_H_

#include <string>
#include <vector>

#include "cli/print/console.h"
#include "common/wire/plan_file.h"

// Prints the answers of `tangram plan` and `tangram evaluate` for people. A
// plan that is printed must be valid on its cluster.
namespace tangram {

// Prints model, cluster and training options.
void PrintRequest(const Cluster& cluster, const ModelSpec& model,
                  const TrainingOptions& training, Console& console);

// Prints one line for each stage: its GPUs, layers, degrees, time and memory.
void PrintStages(const PlanFile& file, Console& console);

// Prints iteration time, throughput, idle time and violations.
void PrintPrediction(const PlanResult& result, Console& console);

// Prints a plan of several pipelines: the stages and share of each, then the
// prediction for all.
void PrintPipelines(const PlanFile& file, Console& console);

// Prints an empty line and the notes; nothing if there are none.
void PrintNotes(const std::vector<std::string>& notes, Console& console);

// Prints the whole answer: islands, stages, prediction, lower bound, unused
// islands with the reason, assumptions and notes; or why no plan fits.
void PrintPlanFile(const PlanFile& file, Console& console);

// Prints the iteration times of the next-best plans; nothing if there are none.
void PrintRunnersUp(const PlanResult& result, Console& console);

// Prints the time of each planning phase and the number of pairs that each step
// left.
void PrintPlanningCost(const PlanFile& file, Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_PRINT_PLAN_H_
