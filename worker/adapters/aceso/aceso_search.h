#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_SEARCH_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_SEARCH_H_

#include <cstdint>
#include <vector>

#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// The outcome of one search.
struct SearchResult {
  Configuration best;  // If none fits, the one that lacks the least memory.
  // Other fitting configurations that were seen and that none equals or beats
  // in slowest stage, latency and last stage. The best configuration alone need
  // not be the best part of a longer pipeline, where a transfer follows the
  // last stage.
  std::vector<Configuration> others;
  int64_t steps = 0;       // Number of primitives applied.
  bool truncated = false;  // Stopped by should_stop before its end.
};

// Searches by iterative bottleneck alleviation (Liu et al., "Aceso: Efficient
// Parallel DNN Training through Iterative Bottleneck Alleviation", EuroSys
// 2024, §4) with a fixed number of stages. Each iteration names the bottleneck
// stage, applies the primitives that save what it lacks, and follows the
// results for several hops until one beats the best plan. If no hop does,
// continues with the next worst stage, then with the best configuration that
// was seen but not expanded. Ends when none is left or after `max_steps`
// primitives.
SearchResult Search(CostTables& tables, const Configuration& start,
                    int64_t max_steps);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_SEARCH_H_
