#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_SEARCH_LIMIT_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_SEARCH_LIMIT_H_

namespace tangram {

// Returns ParallelizeOptions::limit_s with room for rounding: bounds are sums
// in another order than the times that they bound. A search leaves out only
// what exceeds it.
inline double WithRoundingRoom(double limit_s) { return limit_s * (1 + 1e-9); }

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_SEARCH_LIMIT_H_
