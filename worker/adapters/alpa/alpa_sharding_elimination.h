#ifndef TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SHARDING_ELIMINATION_H_
#define TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SHARDING_ELIMINATION_H_

#include <optional>

#include "worker/adapters/alpa/alpa_sharding_problem.h"

namespace tangram::alpa {

// Returns the sharding of least cost, ignoring limits on bytes. Eliminates
// operators with at most two neighbours one after another. The least cost of
// such an operator becomes a cost of its neighbour, or of the edge between its
// two neighbours. Exact, and O(edges · strategies³), on all graphs that this
// reduces to nothing: chains with skip connections, trees and other
// series-parallel graphs. Returns empty if only operators with three or more
// neighbours are left.
//
// `cost` is kForbidden if no sharding is allowed.
std::optional<Sharding> EliminateSharding(const ShardingProblem& problem);

}  // namespace tangram::alpa

#endif  // TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SHARDING_ELIMINATION_H_
