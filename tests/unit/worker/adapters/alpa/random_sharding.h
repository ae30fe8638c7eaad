#ifndef TANGRAM_TESTS_UNIT_WORKER_ADAPTERS_ALPA_RANDOM_SHARDING_H_
#define TANGRAM_TESTS_UNIT_WORKER_ADAPTERS_ALPA_RANDOM_SHARDING_H_

#include <random>
#include <vector>

#include "worker/adapters/alpa/alpa_sharding_problem.h"

namespace tangram::alpa {

// Returns up to 6 operators of up to 3 strategies. Each except the first
// follows an earlier one or has an edge from it, and up to `more_edges` others
// exist.
inline ShardingProblem RandomSharding(std::mt19937& rng, int more_edges) {
  const auto pick = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(rng);
  };
  ShardingProblem problem;
  const int num_nodes = pick(1, 6);
  const auto add_edge = [&](int from, int to) {
    ShardingEdge edge = {.from = from, .to = to};
    const size_t num_costs =
        problem.nodes[from].costs.size() * problem.nodes[to].costs.size();
    for (size_t i = 0; i < num_costs; ++i) {
      edge.costs.push_back(pick(0, 4) == 0 ? kForbidden : pick(0, 9));
    }
    problem.edges.push_back(edge);
  };
  for (int i = 0; i < num_nodes; ++i) {
    ShardingNode node;
    const int before = i == 0 ? -1 : pick(0, i - 1);
    const bool follows =
        before >= 0 && problem.nodes[before].follows < 0 && pick(0, 4) == 0;
    if (follows) node.follows = before;
    const size_t num_strategies =
        follows ? problem.nodes[before].costs.size() : pick(1, 3);
    for (size_t s = 0; s < num_strategies; ++s) {
      node.costs.push_back(pick(0, 9));
      node.bytes.push_back(pick(1, 9));
    }
    problem.nodes.push_back(node);
    if (before >= 0) add_edge(before, i);
  }
  for (int i = 0; i < more_edges && num_nodes > 1; ++i) {
    const int to = pick(1, num_nodes - 1);
    add_edge(pick(0, to - 1), to);
  }
  return problem;
}

// Returns the least cost by trying everything; kForbidden if nothing is
// allowed.
inline double LeastCost(const ShardingProblem& problem) {
  double least = kForbidden;
  std::vector<int> strategies(problem.num_nodes(), 0);
  const auto visit = [&](auto&& self, int node) -> void {
    if (node == problem.num_nodes()) {
      if (FitsLiveBytes(problem, strategies)) {
        least = std::min(least, CostOf(problem, strategies));
      }
      return;
    }
    const int leader = problem.nodes[node].follows;
    const int num_strategies =
        static_cast<int>(problem.nodes[node].costs.size());
    for (int s = 0; s < num_strategies; ++s) {
      if (leader >= 0 && strategies[leader] != s) continue;
      strategies[node] = s;
      self(self, node + 1);
    }
  };
  visit(visit, 0);
  return least;
}

}  // namespace tangram::alpa

#endif  // TANGRAM_TESTS_UNIT_WORKER_ADAPTERS_ALPA_RANDOM_SHARDING_H_
