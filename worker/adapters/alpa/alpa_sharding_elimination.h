#ifndef TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SHARDING_ELIMINATION_H_
#define TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SHARDING_ELIMINATION_H_

#include <optional>

#include "worker/adapters/alpa/alpa_sharding_problem.h"

namespace tangram::alpa {

// The least cost without regard to bytes, by eliminating operators with at most
// two neighbours one after another: what such an operator costs at best becomes
// a cost of its neighbour or of the edge between its two. Exact, and O(edges ·
// strategies³), on all graphs that this uses up: chains with skip connections,
// trees, and whatever else is series-parallel. Empty if operators with three
// neighbours are left.
//
// `cost` is kForbidden where no sharding is allowed.
std::optional<Sharding> EliminateSharding(const ShardingProblem& problem);

}  // namespace tangram::alpa

#endif  // TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SHARDING_ELIMINATION_H_
