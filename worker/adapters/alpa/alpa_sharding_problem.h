#ifndef TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SHARDING_PROBLEM_H_
#define TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SHARDING_PROBLEM_H_

#include <map>
#include <utility>
#include <vector>

#include "common/base/infinity.h"

namespace tangram::alpa {

// Cost of a forbidden strategy or pair of strategies.
inline constexpr double kForbidden = kInfinity;

// An operator and its sharding strategies.
struct ShardingNode {
  // By strategy: seconds of compute and communication, or bytes (ShardingAim).
  std::vector<double> costs;
  // By strategy: bytes on one device. Empty means none.
  std::vector<double> bytes;
  // Index of an earlier free node whose strategy this node takes; -1: free.
  int follows = -1;
};

// A tensor from one operator to another. costs[s · strategies of `to` + t] is
// the cost of resharding from strategy s to t, or kForbidden.
struct ShardingEdge {
  int from = 0;
  int to = 0;
  std::vector<double> costs;
};

// The intra-operator problem (2201.12023 §4.2): choose one strategy for each
// operator so that the costs of operators and edges sum to the least. No set of
// operators whose results live at the same time may need more than
// max_live_bytes.
struct ShardingProblem {
  std::vector<ShardingNode> nodes;
  std::vector<ShardingEdge> edges;
  std::vector<std::vector<int>> live_sets;  // Indices of nodes.
  double max_live_bytes = kForbidden;

  int num_nodes() const { return static_cast<int>(nodes.size()); }
};

// A solution.
struct Sharding {
  std::vector<int> strategies;  // By node.
  double cost = 0;
};

// Returns the cost of one strategy for each node; kForbidden if an edge forbids
// it.
double CostOf(const ShardingProblem& problem,
              const std::vector<int>& strategies);
// Returns whether every live set is within max_live_bytes.
bool FitsLiveBytes(const ShardingProblem& problem,
                   const std::vector<int>& strategies);

// The problem over the free nodes alone, without bytes. Followers are added to
// the nodes that they follow, and parallel edges are summed.
struct MergedProblem {
  // By node; empty for a follower.
  std::vector<std::vector<double>> costs;
  // By pair of free nodes, the smaller index first; row-major as in
  // ShardingEdge. An ordered map, so that solvers see the pairs in one order.
  std::map<std::pair<int, int>, std::vector<double>> pair_costs;
};
MergedProblem Merge(const ShardingProblem& problem);

// Extends the strategies of the free nodes to all nodes.
Sharding ExpandSharding(const ShardingProblem& problem,
                        std::vector<int> strategies);

}  // namespace tangram::alpa

#endif  // TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SHARDING_PROBLEM_H_
