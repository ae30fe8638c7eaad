#include "worker/adapters/alpa/alpa_sharding_elimination.h"

#include <algorithm>
#include <cstddef>
#include <set>

namespace tangram::alpa {
namespace {

// An eliminated operator: its best strategy for each combination of strategies
// of the neighbours that it had.
struct Eliminated {
  int node = 0;
  std::vector<int> neighbours;     // At most two, ascending.
  std::vector<int> best_strategy;  // Row-major over the neighbours' strategies.
};

// Eliminates operators with at most two neighbours until none is left. Costs
// move to the neighbours:
//   one neighbour o:       c_o[t] += min_s { c[s] + R_o[s][t] }
//   two neighbours a, b:   R_ab[t][u] += min_s { c[s] + R_a[s][t] + R_b[s][u] }
class Eliminator {
 public:
  explicit Eliminator(const ShardingProblem& problem)
      : problem_(problem), merged_(Merge(problem)) {
    neighbours_.resize(merged_.costs.size());
    for (const auto& [pair, costs] : merged_.pair_costs) {
      neighbours_[pair.first].insert(pair.second);
      neighbours_[pair.second].insert(pair.first);
    }
    for (int i = 0; i < problem.num_nodes(); ++i) {
      if (!merged_.costs[i].empty()) left_.insert(i);
    }
  }

  std::optional<Sharding> Run() {
    while (!left_.empty()) {
      const auto node = std::find_if(
          left_.begin(), left_.end(),
          [this](int candidate) { return neighbours_[candidate].size() <= 2; });
      if (node == left_.end()) return std::nullopt;
      Eliminate(*node);
      left_.erase(node);
    }
    return ExpandSharding(problem_, Backtrack());
  }

 private:
  int NumStrategies(int node) const {
    return static_cast<int>(merged_.costs[node].size());
  }

  double PairCost(int a, int s, int b, int t) const {
    return a < b ? merged_.pair_costs.at({a, b})[s * NumStrategies(b) + t]
                 : merged_.pair_costs.at({b, a})[t * NumStrategies(a) + s];
  }

  void Eliminate(int node) {
    Eliminated gone = {.node = node};
    gone.neighbours.assign(neighbours_[node].begin(), neighbours_[node].end());
    switch (gone.neighbours.size()) {
      case 0:
        gone.best_strategy.push_back(Best(node, [](int) { return 0.0; }).first);
        break;
      case 1:
        FoldIntoNode(gone);
        break;
      default:
        FoldIntoPair(gone);
    }
    for (const int neighbour : gone.neighbours) {
      neighbours_[neighbour].erase(node);
      merged_.pair_costs.erase(std::minmax(node, neighbour));
    }
    eliminated_.push_back(std::move(gone));
  }

  // Returns the strategy of `node` with the least sum of its cost and `extra`,
  // and that sum.
  template <typename Extra>
  std::pair<int, double> Best(int node, Extra&& extra) const {
    std::pair<int, double> best = {0, kForbidden};
    for (int s = 0; s < NumStrategies(node); ++s) {
      const double cost = merged_.costs[node][s] + extra(s);
      if (cost < best.second) best = {s, cost};
    }
    return best;
  }

  void FoldIntoNode(Eliminated& gone) {
    const int other = gone.neighbours[0];
    for (int t = 0; t < NumStrategies(other); ++t) {
      const auto [strategy, cost] = Best(
          gone.node, [&](int s) { return PairCost(gone.node, s, other, t); });
      gone.best_strategy.push_back(strategy);
      merged_.costs[other][t] += cost;
    }
  }

  void FoldIntoPair(Eliminated& gone) {
    const int a = gone.neighbours[0];  // Less than b.
    const int b = gone.neighbours[1];
    std::vector<double>& pair = merged_.pair_costs[{a, b}];
    pair.resize(static_cast<size_t>(NumStrategies(a)) * NumStrategies(b), 0.0);
    for (int t = 0; t < NumStrategies(a); ++t) {
      for (int u = 0; u < NumStrategies(b); ++u) {
        const auto [strategy, cost] = Best(gone.node, [&](int s) {
          return PairCost(gone.node, s, a, t) + PairCost(gone.node, s, b, u);
        });
        gone.best_strategy.push_back(strategy);
        pair[t * NumStrategies(b) + u] += cost;
      }
    }
    neighbours_[a].insert(b);
    neighbours_[b].insert(a);
  }

  // Reads the strategies off the eliminated operators, last eliminated first.
  std::vector<int> Backtrack() const {
    std::vector<int> strategies(problem_.num_nodes(), 0);
    for (auto it = eliminated_.rbegin(); it != eliminated_.rend(); ++it) {
      size_t index = 0;
      for (const int neighbour : it->neighbours) {
        index = index * NumStrategies(neighbour) + strategies[neighbour];
      }
      strategies[it->node] = it->best_strategy[index];
    }
    return strategies;
  }

  const ShardingProblem& problem_;
  MergedProblem merged_;
  std::vector<std::set<int>> neighbours_;
  std::set<int> left_;
  std::vector<Eliminated> eliminated_;
};

}  // namespace

std::optional<Sharding> EliminateSharding(const ShardingProblem& problem) {
  return Eliminator(problem).Run();
}

}  // namespace tangram::alpa
