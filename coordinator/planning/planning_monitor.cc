#include "coordinator/planning/planning_monitor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/base/infinity.h"

namespace tangram {
namespace {

// People can follow about five lines a second.
constexpr double kReportIntervalS = 0.2;

}  // namespace

PlanningMonitor::PlanningMonitor(std::function<double()> now_s, Report report,
                                 std::function<bool()> should_stop,
                                 PlanTracer* tracer)
    : now_s_(std::move(now_s)),
      report_(std::move(report)),
      should_stop_(std::move(should_stop)),
      tracer_(tracer),
      started_s_(now_s_()),
      last_report_s_(-kInfinity) {}

void PlanningMonitor::OnPhase(PlanPhase phase) {
  EndPhase();
  if (tracer_ != nullptr) tracer_->OnPhase(PhaseName(phase));
  progress_.phase = phase;
  phase_began_s_ = now_s_();
  in_phase_ = true;
  MaybeReport();
}

void PlanningMonitor::OnPairs(int done, int total) {
  progress_.pairs_done = done;
  progress_.pairs_total = total;
  MaybeReport();
}

void PlanningMonitor::OnBest(double iteration_time_s) {
  progress_.best_iteration_time_s = iteration_time_s;
  MaybeReport();
}

std::vector<PhaseTime> PlanningMonitor::Finish() {
  EndPhase();
  return phases_;
}

void PlanningMonitor::EndPhase() {
  if (!in_phase_) return;
  in_phase_ = false;
  const std::string name = PhaseName(progress_.phase);
  auto it =
      std::find_if(phases_.begin(), phases_.end(),
                   [&](const PhaseTime& time) { return time.phase == name; });
  if (it == phases_.end()) {
    it = phases_.insert(it, PhaseTime{.phase = name});
  }
  it->wall_s += now_s_() - phase_began_s_;
}

void PlanningMonitor::MaybeReport() {
  const double now_s = now_s_();
  if (now_s - last_report_s_ < kReportIntervalS) return;
  last_report_s_ = now_s;
  report_(progress_);
}

}  // namespace tangram
