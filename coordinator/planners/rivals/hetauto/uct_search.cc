#include "coordinator/planners/rivals/hetauto/uct_search.h"

#include <cmath>
#include <random>
#include <vector>

namespace tangram {
namespace {

constexpr int kIterationsPerPoll = 16;

struct TreeNode {
  std::vector<int> children;  // Indices of nodes by action; -1: not visited.
  int visits = 0;
  double reward = 0;  // Summed.
};

class Tree {
 public:
  Tree(DecisionProblem& problem, const UctOptions& options)
      : problem_(problem), options_(options), random_(options.seed) {
    nodes_.push_back({});
  }

  void Iterate() {
    std::vector<int> path;
    std::vector<int> visited = {0};
    int num_actions = problem_.NumActions(path);
    // Descends until a node is new.
    for (bool is_new = false; num_actions > 0 && !is_new;) {
      const int here = visited.back();
      nodes_[here].children.resize(num_actions, -1);
      const int action = Choose(here, path);
      int child = nodes_[here].children[action];
      is_new = child < 0;
      if (is_new) {
        child = static_cast<int>(nodes_.size());
        nodes_[here].children[action] = child;
        nodes_.push_back({});
      }
      visited.push_back(child);
      path.push_back(action);
      num_actions = problem_.NumActions(path);
    }
    for (; num_actions > 0; num_actions = problem_.NumActions(path)) {
      path.push_back(RollOut(path, num_actions));
    }
    const double reward = problem_.Reward(path);
    for (const int node : visited) {
      ++nodes_[node].visits;
      nodes_[node].reward += reward;
    }
    is_first_ = false;
  }

 private:
  int Choose(int here, const std::vector<int>& path) const {
    const std::vector<int>& children = nodes_[here].children;
    const int guided = problem_.GuidedAction(path);
    if (children[guided] < 0) return guided;
    int best = 0;
    double best_bound = -1;
    for (size_t action = 0; action < children.size(); ++action) {
      if (children[action] < 0) return static_cast<int>(action);
      const TreeNode& child = nodes_[children[action]];
      const double bound =
          child.reward / child.visits +
          options_.exploration *
              std::sqrt(std::log(nodes_[here].visits) / child.visits);
      if (bound <= best_bound) continue;
      best_bound = bound;
      best = static_cast<int>(action);
    }
    return best;
  }

  // In [0, 1).
  double Random() { return static_cast<double>(random_()) / 4294967296; }

  int RollOut(const std::vector<int>& path, int num_actions) {
    if (is_first_ || Random() < options_.guidance) {
      return problem_.GuidedAction(path);
    }
    return static_cast<int>(Random() * num_actions);
  }

  DecisionProblem& problem_;
  const UctOptions& options_;
  std::mt19937 random_;
  std::vector<TreeNode> nodes_;
  bool is_first_ = true;
};

}  // namespace

bool UctSearch(DecisionProblem& problem, const UctOptions& options,
               const std::function<bool()>& should_stop) {
  Tree tree(problem, options);
  for (int i = 0; i < options.iterations; ++i) {
    if (i % kIterationsPerPoll == 0 && should_stop()) return false;
    tree.Iterate();
  }
  return true;
}

}  // namespace tangram
