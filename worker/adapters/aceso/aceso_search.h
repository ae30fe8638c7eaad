#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_SEARCH_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_SEARCH_H_

#include <cstdint>
#include <vector>

#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

struct SearchResult {
  Configuration best;  // Least short of memory where none fits.
  // Others on the way that fit, and that none is at least as fast as in slowest
  // stage, latency and last stage: the best on its own need not be the best
  // part of a longer pipeline, where a transfer follows the last stage.
  std::vector<Configuration> others;
  int64_t steps = 0;  // Primitives applied.
  bool truncated = false;
};

// Iterative bottleneck alleviation (Liu et al., "Aceso: Efficient Parallel DNN
// Training through Iterative Bottleneck Alleviation", EuroSys 2024, §4) with a
// fixed number of stages. Repeats: name the bottleneck stage, apply to it the
// primitives that save what it lacks, follow the results for several hops until
// one beats the best plan known. Where no hop does, goes on with the next stage
// and then from the best configuration seen that was not gone on from.
// Ends by itself or after `max_steps` primitives.
SearchResult Search(CostTables& tables, const Configuration& start,
                    int64_t max_steps);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_SEARCH_H_
