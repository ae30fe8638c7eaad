#ifndef TANGRAM_CLI_PRINT_PRINT_FRONTIER_H_
#define TANGRAM_CLI_PRINT_PRINT_FRONTIER_H_

#include "cli/print/console.h"
#include "cli/print/frontier.h"

namespace tangram {

// Prints a table of the allocations, and those that answer usual questions.
void PrintFrontier(const Frontier& frontier, Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_PRINT_FRONTIER_H_
