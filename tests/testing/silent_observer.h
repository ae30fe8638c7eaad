#ifndef TANGRAM_TESTS_TESTING_SILENT_OBSERVER_H_
#define TANGRAM_TESTS_TESTING_SILENT_OBSERVER_H_

#include "common/planner/cluster_planner.h"

namespace tangram::testing {

// Ignores everything, and asks to stop if it is told to.
class SilentObserver : public PlanObserver {
 public:
  bool stop = false;
  void OnPhase(PlanPhase) override {}
  void OnPairs(int, int) override {}
  void OnBest(double) override {}
  bool ShouldStop() override { return stop; }
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_SILENT_OBSERVER_H_
