#include "cli/planning/plan_monitor.h"

#include <algorithm>

#include "cli/planning/interrupt.h"

namespace tangram {
namespace {

// One year. The steady clock counts nanoseconds in 64 bits, about 292 years, so
// a longer timeout could overflow it.
constexpr double kLongestTimeoutSeconds = 365.0 * 24 * 3600;

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

StopCondition::StopCondition(std::optional<double> timeout_s) {
  if (!timeout_s) return;
  using Clock = std::chrono::steady_clock;
  const std::chrono::duration<double> timeout(
      std::min(*timeout_s, kLongestTimeoutSeconds));
  deadline_ =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(timeout);
}

bool StopCondition::ShouldStop() const {
  return Interrupted() || DeadlinePassed();
}

bool StopCondition::DeadlinePassed() const {
  return deadline_ && std::chrono::steady_clock::now() >= *deadline_;
}

PlanMonitor::PlanMonitor(ProgressLine& line, const StopCondition& stop,
                         PlanTracer* tracer)
    : stop_(stop), tracer_(tracer), line_(line) {}

void PlanMonitor::OnPhase(PlanPhase phase) {
  if (tracer_ != nullptr) tracer_->OnPhase(PhaseName(phase));
  const MutexLock lock(mutex_);
  EndPhase();
  phase_began_ = Clock::now();
  state_.phase = PhaseName(phase);
  state_.pairs_done = state_.pairs_total = 0;
  Show();
}

void PlanMonitor::OnPairs(int done, int total) {
  const MutexLock lock(mutex_);
  state_.pairs_done = done;
  state_.pairs_total = total;
  Show();
}

void PlanMonitor::OnBest(double iteration_time_s) {
  const MutexLock lock(mutex_);
  state_.best_iteration_time_s = iteration_time_s;
  Show();
}

bool PlanMonitor::ShouldStop() { return stop_.ShouldStop(); }

std::vector<PhaseTime> PlanMonitor::Finish() {
  const MutexLock lock(mutex_);
  EndPhase();
  state_.phase.clear();
  line_.Clear();
  return phases_;
}

void PlanMonitor::EndPhase() {
  if (state_.phase.empty()) return;
  const std::string& phase = state_.phase;
  auto it = std::find_if(phases_.begin(), phases_.end(),
                         [&](const auto& p) { return p.phase == phase; });
  if (it == phases_.end()) it = phases_.insert(phases_.end(), {.phase = phase});
  it->wall_s += Seconds(Clock::now() - phase_began_);
}

void PlanMonitor::Show() {
  state_.in_phase_s = Seconds(Clock::now() - phase_began_);
  line_.Show(state_);
}

}  // namespace tangram
