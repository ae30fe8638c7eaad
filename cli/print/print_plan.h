#ifndef TANGRAM_CLI_PRINT_PRINT_PLAN_H_
#define TANGRAM_CLI_PRINT_PRINT_PLAN_H_

#include <string>
#include <vector>

#include "cli/print/console.h"
#include "common/wire/plan_file.h"

// Parts of what commands print about a plan. A plan that is printed must be
// valid on its cluster.
namespace tangram {

// Prints model, cluster and training options.
void PrintRequest(const Cluster& cluster, const ModelSpec& model,
                  const TrainingOptions& training, Console& console);

// Prints all figures of an iteration, of one pipeline or of several: time,
// throughput, band, idle time and use of the GPUs.
void PrintPrediction(const PlanResult& result, Console& console);

// Prints an empty line and the notes; nothing if there are none.
void PrintNotes(const std::vector<std::string>& notes, Console& console);

// Prints the iteration times of the next-best plans, and why those that are
// faster were not chosen; nothing if there are none.
void PrintRunnersUp(const PlanResult& result, Console& console);

// Prints the time of each planning phase and the number of pairs that each step
// left.
void PrintPlanningCost(const PlanFile& file, Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_PRINT_PLAN_H_
