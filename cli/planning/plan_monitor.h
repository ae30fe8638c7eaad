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

// Tells a command when to stop: after its timeout or a signal. Thread-safe.
class StopCondition {
 public:
  // An empty timeout never passes.
  explicit StopCondition(std::optional<double> timeout_s);
  // True after the timeout, and after SIGINT or SIGTERM.
  bool ShouldStop() const;
  // True after the timeout.
  bool DeadlinePassed() const;

 private:
  std::optional<std::chrono::steady_clock::time_point> deadline_;
};

// Observes planning in this process: draws `line`, measures the phases, and
// tells the planner when to stop. `line` and `stop` must outlive it.
// Thread-safe.
class PlanMonitor : public PlanObserver {
 public:
  // `tracer` may be null.
  PlanMonitor(ProgressLine& line, const StopCondition& stop,
              PlanTracer* tracer = nullptr);

  void OnPhase(PlanPhase phase) override;
  void OnPairs(int done, int total) override;
  void OnBest(double iteration_time_s) override;
  bool ShouldStop() override;

  // Ends the last phase and clears the line. Returns the phases in the order in
  // which they first began.
  std::vector<PhaseTime> Finish();

 private:
  using Clock = std::chrono::steady_clock;

  // Adds the time since phase_began_ to the current phase.
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
