#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_UCT_SEARCH_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_UCT_SEARCH_H_

#include <cstdint>
#include <functional>

#include "absl/types/span.h"

namespace tangram {

// Decisions that are made one after the other. A path is the actions taken so
// far. Functions must return the same for the same path.
class DecisionProblem {
 public:
  virtual ~DecisionProblem() = default;
  // How many actions may come next, numbered from 0. 0: the path is complete.
  virtual int NumActions(absl::Span<const int> path) const = 0;
  // The action that principles suggest.
  virtual int GuidedAction(absl::Span<const int> path) const = 0;
  // A complete path's: 0 if it is of no use, and about 1 if it is good.
  virtual double Reward(absl::Span<const int> path) = 0;
};

struct UctOptions {
  int iterations = 2000;
  double exploration = 0.3;
  // How likely a roll-out takes the guided action at each decision.
  double guidance = 0.7;
  uint32_t seed = 1;
};

// Monte-Carlo tree search with upper confidence bounds (UCT; Kocsis and
// Szepesvári, ECML 2006). Each iteration
//  1. descends to the child of the greatest
//       mean reward + exploration · sqrt(ln visits of the parent / visits),
//     and takes the guided action first, then the others in order, where a
//     child was never visited;
//  2. adds that child, and completes the path by a roll-out;
//  3. adds the reward to all nodes of the path.
// The first path has guided actions alone. Deterministic. Returns false if
// `should_stop`, polled every few iterations, ended it.
bool UctSearch(DecisionProblem& problem, const UctOptions& options,
               const std::function<bool()>& should_stop);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_UCT_SEARCH_H_
