#ifndef TANGRAM_COORDINATOR_PLANNING_PLANNING_MONITOR_H_
#define TANGRAM_COORDINATOR_PLANNING_PLANNING_MONITOR_H_

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "common/planner/cluster_planner.h"
#include "common/wire/plan_file.h"
#include "coordinator/tracing/plan_tracer.h"

namespace tangram {

struct PlanningProgress {
  PlanPhase phase = PlanPhase::kIslands;
  int pairs_done = 0;
  int pairs_total = 0;
  std::optional<double> best_iteration_time_s;
};

// Measures the phases of one planning run. Reports its progress at most five
// times a second. `now_s` never goes back.
class PlanningMonitor : public PlanObserver {
 public:
  using Report = std::function<void(const PlanningProgress&)>;

  // `tracer` may be null.
  PlanningMonitor(std::function<double()> now_s, Report report,
                  std::function<bool()> should_stop,
                  PlanTracer* tracer = nullptr);

  void OnPhase(PlanPhase phase) override;
  void OnPairs(int done, int total) override;
  void OnBest(double iteration_time_s) override;
  bool ShouldStop() override { return should_stop_(); }

  // Ends the last phase. Returns the phases in the order in which they first
  // began.
  std::vector<PhaseTime> Finish();
  double wall_s() const { return now_s_() - started_s_; }

 private:
  void EndPhase();
  void MaybeReport();

  const std::function<double()> now_s_;
  const Report report_;
  const std::function<bool()> should_stop_;
  PlanTracer* const tracer_;
  const double started_s_;
  double phase_began_s_ = 0;
  double last_report_s_ = 0;
  bool in_phase_ = false;
  PlanningProgress progress_;
  std::vector<PhaseTime> phases_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNING_PLANNING_MONITOR_H_
