#ifndef TANGRAM_CLI_PRINT_PRINT_STAGES_H_
#define TANGRAM_CLI_PRINT_PRINT_STAGES_H_

#include "cli/print/console.h"
#include "common/sim/evaluate_plan.h"
#include "common/wire/plan_file.h"

namespace tangram {

// Prints the schedule of a plan of one pipeline and one line for each stage:
// its GPUs, layers, degrees, the time of a microbatch and memory. The plan must
// be valid on its cluster.
void PrintStages(const PlanFile& file, Console& console);

// Prints a line for each violation.
void PrintViolations(const Evaluation& evaluation, Console& console);

// Prints for a plan of several pipelines the stages and the share of each. The
// plan must be valid on its cluster.
void PrintPipelines(const PlanFile& file, Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_PRINT_STAGES_H_
