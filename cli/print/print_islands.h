#ifndef TANGRAM_CLI_PRINT_PRINT_ISLANDS_H_
#define TANGRAM_CLI_PRINT_PRINT_ISLANDS_H_

#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cli/print/console.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"

namespace tangram {

// How a plan uses islands: the numbers of the stages or pipelines on each.
struct IslandUses {
  std::string what;                 // "stage"; empty: there is no plan.
  std::vector<std::set<int>> used;  // By island; as many as islands.
};

// Prints a table of `islands` with their nodes, memory and links. Equal ones
// that are used alike share a row. The memory is the real one; where plans
// leave a margin free, the usable one stands beside it.
void PrintIslandTable(const Cluster& cluster, absl::Span<const Island> islands,
                      const IslandUses& uses, Console& console);

// Prints for each island why it is apart from the others, in one sentence.
void PrintIslandReasons(absl::Span<const Island> islands, Console& console);

// Prints the values used for fields that the cluster file left out, by part of
// the file and source. Prints at most `limit` parts and the number of others.
void PrintAssumptions(const Cluster& cluster, int limit, Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_PRINT_ISLANDS_H_
