#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_TURN_OBSERVER_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_TURN_OBSERVER_H_

#include "common/base/ordered_tasks.h"
#include "common/planner/cluster_planner.h"

namespace tangram {

// Observes a search that may work before its turn. Until then, it is silent.
// Both arguments must outlive it.
class TurnObserver : public PlanObserver {
 public:
  TurnObserver(const TaskTurn& turn, PlanObserver& observer)
      : turn_(turn), observer_(observer) {}

  void OnPhase(PlanPhase phase) override {
    if (turn_.IsNext()) observer_.OnPhase(phase);
  }
  void OnPairs(int done, int total) override {
    if (turn_.IsNext()) observer_.OnPairs(done, total);
  }
  void OnBest(double iteration_time_s) override {
    if (turn_.IsNext()) observer_.OnBest(iteration_time_s);
  }
  bool ShouldStop() override {
    return turn_.ShouldStop() || observer_.ShouldStop();
  }

 private:
  const TaskTurn& turn_;
  PlanObserver& observer_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_TURN_OBSERVER_H_
