#ifndef TANGRAM_CLI_PRINT_PRINT_ISLANDS_H_
#define TANGRAM_CLI_PRINT_PRINT_ISLANDS_H_

#include <string>

#include "absl/types/span.h"
#include "cli/print/console.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"

namespace tangram {

// Prints a table of `islands` with their nodes, memory and links. `uses` says
// how a plan uses each island ("stages 0-3"); empty without a plan.
void PrintIslandTable(const Cluster& cluster, absl::Span<const Island> islands,
                      absl::Span<const std::string> uses, Console& console);

// Prints for each island why it is apart from the others, in one sentence.
void PrintIslandReasons(absl::Span<const Island> islands, Console& console);

// Prints the values used for fields that the cluster file left out, by part of
// the file and source. Prints at most `limit` parts and the number of others.
void PrintAssumptions(const Cluster& cluster, int limit, Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_PRINT_ISLANDS_H_
