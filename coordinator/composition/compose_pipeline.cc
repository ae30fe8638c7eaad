#include "coordinator/composition/compose_pipeline.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/types/span.h"
#include "common/base/infinity.h"
#include "coordinator/composition/compose_pass.h"
#include "coordinator/composition/earlier_alike.h"
#include "coordinator/composition/island_kinds.h"
#include "coordinator/composition/joint_bounds.h"
#include "coordinator/composition/prefix_bounds.h"
#include "coordinator/composition/problem_ranges.h"

namespace tangram {
namespace {

// Each pass allows stages slower by this factor than the pass before.
// With 1.075 and with 1.3, the plans of the paper's C1 and C3 workloads are the
// same.
constexpr double kBoundGrowth = 1.15;
// The first pass allows at least this share of the slowest candidate, so at
// most 115 passes follow: 1.15^115 > 10^7. Atoms that take next to no time
// would make thousands of passes that find nothing.
constexpr double kLeastStart = 1e-7;
// Width of the first beam, and the factor by which a beam that is still too
// wide is narrowed. With half and with twice the width, the plans
// of the paper's C1 and C3 workloads are the same.
constexpr int kFirstBeam = 4096;
// Width of the beam that looks for a first pipeline. With 8 it misses more.
constexpr int kNarrowBeam = 32;
// The work of preparing a hard search: that of the beam, and that of the table.
// A unit of work takes as long as this many steps.
constexpr int64_t kLeastWork = int64_t{1} << 14;
constexpr int64_t kStepsPerWork = 16;
constexpr int kBeamShrink = 4;

ComposeEffort WithNarrowerBeam(const ComposeEffort& effort) {
  return {.is_exact = false,
          .beam_width = effort.is_exact
                            ? kFirstBeam
                            : std::max(effort.beam_width / kBeamShrink, 1)};
}

// Returns for each island those before it (a bit each) to which it is alike.
std::vector<uint32_t> AlikeBefore(const ComposeProblem& problem,
                                  const IslandKinds& kinds) {
  return EarlierAlike(problem.num_islands, [&](int a, int b) {
    return !problem.first_alike.empty() &&
           problem.first_alike[a] == problem.first_alike[b] &&
           kinds.KindOf(a) == kinds.KindOf(b);
  });
}

// Compares the best of two lists. A list without compositions is the slowest.
bool IsFaster(absl::Span<const Composition> a,
              absl::Span<const Composition> b) {
  if (a.empty() || b.empty()) return b.empty() && !a.empty();
  return a.front().closed_form_s < b.front().closed_form_s;
}

// The outer loop of paper §5.2, steps 1, 3 and 4. The bound on the slowest
// stage begins at the fastest candidate, or kLeastStart of the slowest, and
// grows by kBoundGrowth until a pipeline exists. Since J ≥ B · max t, no stage
// slower than
//
//   (1 + slack) · best J / B
//
// is in a pipeline within the slack. A pass with that bound is therefore the
// last one.
class Composer {
 public:
  Composer(const ComposeProblem& problem, ComposeEffort& effort)
      : problem_(problem),
        effort_(effort),
        ending_at_(PairsByEnd(problem)),
        leasts_(LeastsOf(problem)),
        kinds_(problem),
        bounds_(problem, leasts_, kinds_),
        earlier_alike_(AlikeBefore(problem, kinds_)),
        stages_told_apart_(StagesToldApart(problem)),
        best_s_(problem.incumbent_s),
        work_left_(problem.easy_work.value_or(
            kLeastWork + JointBounds::Steps(problem, kinds_) / kStepsPerWork)) {
  }

  absl::StatusOr<std::vector<Composition>> Run() {
    const StageRange range = StagesOf(problem_);
    double bound_s = std::max(range.fastest_s, kLeastStart * range.slowest_s);
    while (true) {
      if (problem_.should_stop && problem_.should_stop()) return Stopped();
      const double last_bound_s = LastBound();
      if (best_s_ < kInfinity || bound_s > range.slowest_s) {
        bound_s = last_bound_s;
      }
      const double best_before_s = best_s_;
      ComposePass pass = MakePass({.stage_bound_s = bound_s,
                                   .best_s = best_s_,
                                   .beam_width = effort_.beam_width,
                                   .max_work = work_left_});
      const ComposePass::Outcome outcome = pass.Run();
      if (outcome == ComposePass::Outcome::kStopped) return Stopped();
      if (outcome != ComposePass::Outcome::kDone) {
        if (is_hard_) effort_ = WithNarrowerBeam(effort_);
        if (!is_hard_ && !Prepare()) return Stopped();
        continue;
      }
      best_s_ = pass.best_s();
      if (!is_hard_) work_left_ -= pass.work();
      if (!effort_.is_exact && best_s_ < best_before_s) {
        found_ = pass.Compositions();
      }
      if (bound_s == last_bound_s) {
        std::vector<Composition> last = pass.Compositions();
        return IsFaster(found_, last) ? found_ : last;
      }
      // Candidates of no time at all need one pass without a bound.
      bound_s = bound_s > 0 ? bound_s * kBoundGrowth : kInfinity;
    }
  }

 private:
  static absl::Status Stopped() {
    return absl::CancelledError("composition stopped");
  }

  // Pipelines with a slower stage are beyond the cut-off.
  double LastBound() const { return Cutoff() / problem_.num_microbatches; }
  double Cutoff() const { return CutoffOf(problem_, best_s_); }

  ComposePass MakePass(PassRules rules) const {
    rules.stages_told_apart = stages_told_apart_;
    return ComposePass(problem_, bounds_,
                       joint_.has_value() ? &*joint_ : nullptr, ending_at_,
                       leasts_, earlier_alike_, rules);
  }

  // Fills the table, if it is small enough, and looks for a good pipeline with
  // a narrow beam. False if it was stopped.
  bool Prepare() {
    is_hard_ = true;
    work_left_ = std::numeric_limits<int64_t>::max();
    if (JointBounds::IsSmall(problem_, kinds_)) {
      joint_.emplace(problem_, kinds_, ending_at_, Cutoff());
      if (joint_->stopped()) return false;
    }
    ComposePass pass = MakePass({.stage_bound_s = LastBound(),
                                 .best_s = best_s_,
                                 .beam_width = kNarrowBeam,
                                 .is_modest = true});
    if (pass.Run() == ComposePass::Outcome::kStopped) return false;
    if (pass.best_s() < best_s_) found_ = pass.Compositions();
    best_s_ = pass.best_s();
    return true;
  }

  const ComposeProblem& problem_;
  ComposeEffort& effort_;
  const std::vector<std::vector<int>> ending_at_;
  const std::vector<LeastOfPair> leasts_;  // By pair.
  const IslandKinds kinds_;
  const PrefixBounds bounds_;
  const std::vector<uint32_t> earlier_alike_;  // By island, a bit each.
  const int stages_told_apart_;
  std::optional<JointBounds> joint_;
  double best_s_;
  // The compositions of the last pass with a beam that improved on the best. A
  // later pass with a beam may not find them again.
  std::vector<Composition> found_;
  int64_t work_left_;     // Until the search is hard.
  bool is_hard_ = false;  // Whether Prepare was called.
};

}  // namespace

absl::StatusOr<std::vector<Composition>> ComposePipelines(
    const ComposeProblem& problem, ComposeEffort* effort) {
  ComposeEffort unused;
  if (effort == nullptr) effort = &unused;
  *effort = {};
  return Composer(problem, *effort).Run();
}

}  // namespace tangram
