#ifndef TANGRAM_CLI_PRINT_PRINT_ISLANDS_H_
#define TANGRAM_CLI_PRINT_PRINT_ISLANDS_H_

#include <string>

#include "absl/types/span.h"
#include "cli/print/console.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"

namespace tangram {

// A table of `islands` with their nodes, memory and links. `uses` says what a
// plan makes of each ("stages 0-3"); empty where there is no plan.
void PrintIslandTable(const Cluster& cluster, absl::Span<const Island> islands,
                      absl::Span<const std::string> uses, Console& console);

// Why each island is apart from the others, a sentence each.
void PrintIslandReasons(absl::Span<const Island> islands, Console& console);

// What the cluster file left out and the values used, by part of the file and
// source. At most `limit` parts, then how many more there are.
void PrintAssumptions(const Cluster& cluster, int limit, Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_PRINT_ISLANDS_H_
