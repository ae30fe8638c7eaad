#ifndef TANGRAM_CLI_PLANNING_PLAN_MONITOR_H_
#define TANGRAM_CLI_PLANNING_PLAN_MONITOR_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "cli/print/progress_line.h"
#include "common/planner/cluster_planner.h"
#include "common/sync/mutex.h"
#include "common/wire/plan_file.h"
#include "coordinator/tracing/plan_tracer.h"

namespace tangram {

// When a command has to end, and whether it was asked to end before.
class StopCondition {
 public:
  explicit StopCondition(std::optional<double> timeout_s);
  bool ShouldStop() const;      // Any thread.
  bool DeadlinePassed() const;  // Any thread.

 private:
  std::optional<std::chrono::steady_clock::time_point> deadline_;
};

// Watches planning in this process: draws `line`, measures the phases, and
// passes on the wish to stop. `line` and `stop` must outlive it.
class PlanMonitor : public PlanObserver {
 public:
  // `tracer` may be null.
  PlanMonitor(ProgressLine& line, const StopCondition& stop,
              PlanTracer* tracer = nullptr);

  void OnPhase(PlanPhase phase) override;
  void OnPairs(int done, int total) override;
  void OnBest(double iteration_time_s) override;
  bool ShouldStop() override;

  // Ends the last phase and clears the line. Phases in the order in which they
  // first began.
  std::vector<PhaseTime> Finish();

 private:
  using Clock = std::chrono::steady_clock;

  void EndPhase() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Show() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StopCondition& stop_;
  PlanTracer* const tracer_;
  Mutex mutex_;
  ProgressLine& line_ ABSL_GUARDED_BY(mutex_);
  ProgressState state_ ABSL_GUARDED_BY(mutex_);
  Clock::time_point phase_began_ ABSL_GUARDED_BY(mutex_);
  std::vector<PhaseTime> phases_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_CLI_PLANNING_PLAN_MONITOR_H_
