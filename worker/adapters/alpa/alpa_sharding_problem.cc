#include "worker/adapters/alpa/alpa_sharding_problem.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tangram::alpa {
namespace {

// Returns the free node whose strategy `node` takes.
int LeaderOf(const ShardingProblem& problem, int node) {
  const int leader = problem.nodes[node].follows;
  return leader < 0 ? node : leader;
}

// Adds an edge between nodes that share a strategy: only its diagonal counts.
void AddDiagonal(const std::vector<double>& costs, std::vector<double>& node) {
  for (size_t s = 0; s < node.size(); ++s) {
    node[s] += costs[s * node.size() + s];
  }
}

// Adds the rows × columns matrix `costs`, optionally transposed.
void AddPair(const std::vector<double>& costs, size_t rows, size_t columns,
             bool transposed, std::vector<double>& sum) {
  sum.resize(rows * columns, 0.0);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      (transposed ? sum[c * rows + r] : sum[r * columns + c]) +=
          costs[r * columns + c];
    }
  }
}

}  // namespace

// Σ_i c_i[s_i] + Σ_(i,j) R_ij[s_i][s_j]
double CostOf(const ShardingProblem& problem,
              const std::vector<int>& strategies) {
  double cost = 0;
  for (int i = 0; i < problem.num_nodes(); ++i) {
    cost += problem.nodes[i].costs[strategies[i]];
  }
  for (const ShardingEdge& edge : problem.edges) {
    const size_t columns = problem.nodes[edge.to].costs.size();
    cost += edge.costs[strategies[edge.from] * columns + strategies[edge.to]];
  }
  return cost;
}

// Σ_{i ∈ L} bytes_i[s_i] ≤ max_live_bytes for every live set L.
bool FitsLiveBytes(const ShardingProblem& problem,
                   const std::vector<int>& strategies) {
  for (const std::vector<int>& live : problem.live_sets) {
    double bytes = 0;
    for (const int i : live) {
      const ShardingNode& node = problem.nodes[i];
      if (!node.bytes.empty()) bytes += node.bytes[strategies[i]];
    }
    if (bytes > problem.max_live_bytes) return false;
  }
  return true;
}

// A follower has its leader's strategy, so its costs add to the leader's.
MergedProblem Merge(const ShardingProblem& problem) {
  MergedProblem merged;
  merged.costs.resize(problem.nodes.size());
  for (int i = 0; i < problem.num_nodes(); ++i) {
    const ShardingNode& node = problem.nodes[i];
    std::vector<double>& costs = merged.costs[LeaderOf(problem, i)];
    costs.resize(node.costs.size(), 0.0);
    for (size_t s = 0; s < costs.size(); ++s) costs[s] += node.costs[s];
  }
  for (const ShardingEdge& edge : problem.edges) {
    const int from = LeaderOf(problem, edge.from);
    const int to = LeaderOf(problem, edge.to);
    if (from == to) {
      AddDiagonal(edge.costs, merged.costs[from]);
      continue;
    }
    AddPair(edge.costs, merged.costs[from].size(), merged.costs[to].size(),
            from > to, merged.pair_costs[std::minmax(from, to)]);
  }
  return merged;
}

Sharding ExpandSharding(const ShardingProblem& problem,
                        std::vector<int> strategies) {
  for (int i = 0; i < problem.num_nodes(); ++i) {
    strategies[i] = strategies[LeaderOf(problem, i)];
  }
  const double cost = CostOf(problem, strategies);
  return {.strategies = std::move(strategies), .cost = cost};
}

}  // namespace tangram::alpa
