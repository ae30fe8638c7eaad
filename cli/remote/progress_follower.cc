#include "cli/remote/progress_follower.h"

#include "common/wire/plan_file.h"
#include "tangram/v1/planner_service.pb.h"

namespace tangram {
namespace {

const char* NameOf(v1::PlanProgress::Phase phase) {
  switch (phase) {
    case v1::PlanProgress::ISLANDS:
      return PhaseName(PlanPhase::kIslands);
    case v1::PlanProgress::PROFILING:
      return PhaseName(PlanPhase::kProfiling);
    case v1::PlanProgress::ENUMERATION:
      return PhaseName(PlanPhase::kEnumeration);
    case v1::PlanProgress::SLICE_PLANS:
      return PhaseName(PlanPhase::kSlicePlans);
    case v1::PlanProgress::COMPOSITION:
      return PhaseName(PlanPhase::kComposition);
    case v1::PlanProgress::EVALUATION:
      return PhaseName(PlanPhase::kEvaluation);
    default:
      return "queued";
  }
}

}  // namespace

void ProgressFollower::Show(const v1::PlanProgress& progress) {
  const auto now = std::chrono::steady_clock::now();
  ProgressState state{.phase = NameOf(progress.phase()),
                      .pairs_done = progress.pairs_done(),
                      .pairs_total = progress.pairs_total(),
                      .num_workers = progress.num_workers()};
  if (progress.has_best_iteration_time_s()) {
    state.best_iteration_time_s = progress.best_iteration_time_s();
  }
  if (state.phase != phase_) {
    phase_ = state.phase;
    phase_began_ = now;
  }
  state.in_phase_s = std::chrono::duration<double>(now - phase_began_).count();
  line_.Show(state);
}

}  // namespace tangram
