#ifndef TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SHARDING_PROBLEM_H_
#define TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SHARDING_PROBLEM_H_

#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace tangram::alpa {

// A cost that no sharding may have.
inline constexpr double kForbidden = std::numeric_limits<double>::infinity();

// An operator with the ways to shard it.
struct ShardingNode {
  std::vector<double> costs;  // By strategy: compute and communication.
  std::vector<double> bytes;  // By strategy, on one device; empty: none.
  // The strategy of this earlier node, which follows none, is taken; -1: free.
  int follows = -1;
};

// A tensor from one operator to another. costs[s · strategies of `to` + t]:
// what resharding costs, or kForbidden.
struct ShardingEdge {
  int from = 0;
  int to = 0;
  std::vector<double> costs;
};

// The intra-operator problem (2201.12023 §4.2): one strategy an operator, so
// that the costs of operators and edges add up to the least, and no set of
// operators whose results live at the same time needs too many bytes.
struct ShardingProblem {
  std::vector<ShardingNode> nodes;
  std::vector<ShardingEdge> edges;
  std::vector<std::vector<int>> live_sets;  // Indices of nodes.
  double max_live_bytes = kForbidden;

  int num_nodes() const { return static_cast<int>(nodes.size()); }
};

struct Sharding {
  std::vector<int> strategies;  // By node.
  double cost = 0;
};

// Of a strategy for each node; kForbidden if an edge forbids it.
double CostOf(const ShardingProblem& problem,
              const std::vector<int>& strategies);
bool FitsLiveBytes(const ShardingProblem& problem,
                   const std::vector<int>& strategies);

// The problem over the free nodes alone, without bytes: followers and the edges
// between two nodes are added up.
struct MergedProblem {
  // By node; empty: follows another.
  std::vector<std::vector<double>> costs;
  // By pair of free nodes, the smaller index first; row-major as in
  // ShardingEdge. Ordered, so that what is solved from it has one order.
  std::map<std::pair<int, int>, std::vector<double>> pair_costs;
};
MergedProblem Merge(const ShardingProblem& problem);

// A strategy for every node from those of the free nodes.
Sharding ExpandSharding(const ShardingProblem& problem,
                        std::vector<int> strategies);

}  // namespace tangram::alpa

#endif  // TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SHARDING_PROBLEM_H_
