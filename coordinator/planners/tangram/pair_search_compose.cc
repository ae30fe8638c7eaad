// The part of PairSearch that composes pipelines of the answers.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "common/base/status_macros.h"
#include "coordinator/planners/tangram/pair_search.h"

namespace tangram {

absl::Status PairSearch::ComposeAll() {
  while (true) {
    if (observer_.ShouldStop()) return absl::CancelledError("planning stopped");
    observer_.OnPhase(PlanPhase::kComposition);
    // A faster pipeline for one size lowers the limit for the others.
    for (bool changed = true; changed;) {
      TANGRAM_ASSIGN_OR_RETURN(changed, ComposeChanged());
    }
    const std::vector<Question> questions = OpenQuestions();
    if (questions.empty()) return absl::OkStatus();
    if (store_.is_full()) return LeaveUnasked();
    TANGRAM_RETURN_IF_ERROR(
        Ask(questions.size(), [&](size_t i) { return questions[i]; }));
  }
}

// Returns whether `earlier` has a pipeline that fits and beats `compositions`.
// A beam may miss a pipeline that was found with fewer answers. If it returns
// true, it removes from `earlier` the pipelines that may not fit.
bool PairSearch::KeepsEarlier(const std::vector<Composition>& compositions,
                              std::vector<Composition>& earlier) const {
  if (met_.narrowest_beam == kUnlimitedBeam) return false;
  const auto best = std::find_if(
      earlier.begin(), earlier.end(),
      [](const Composition& composition) { return !composition.optimistic; });
  if (best == earlier.end() ||
      (!compositions.empty() &&
       compositions.front().closed_form_s <= best->closed_form_s)) {
    return false;
  }
  std::erase_if(earlier, [](const Composition& composition) {
    return composition.optimistic;
  });
  return true;
}

// Composes one microbatch size that has new answers. Returns false if none has.
absl::StatusOr<bool> PairSearch::ComposeChanged() {
  for (int m = 0; m < static_cast<int>(composed_.size()); ++m) {
    Composed& composed = composed_[m];
    if (!composed.changed) continue;
    if (observer_.ShouldStop()) return absl::CancelledError("planning stopped");
    composed.changed = false;
    ComposeProblem problem = ProblemFor(m);
    TANGRAM_ASSIGN_OR_RETURN(std::vector<Composition> compositions,
                             Compose(problem));
    if (KeepsEarlier(compositions, composed.compositions)) return true;
    composed.pairs = KeepUsed(std::move(problem.pairs), compositions);
    composed.compositions = std::move(compositions);
    for (const Composition& composition : composed.compositions) {
      if (composition.optimistic || composition.closed_form_s >= best_s_) {
        continue;
      }
      best_s_ = composition.closed_form_s;
      observer_.OnBest(best_s_);
    }
    return true;
  }
  return false;
}

absl::StatusOr<std::vector<Composition>> PairSearch::Compose(
    const ComposeProblem& problem) {
  ++stats_.compositions;
  ComposeEffort effort;
  absl::StatusOr<std::vector<Composition>> compositions =
      ComposePipelines(problem, &effort);
  if (!effort.is_exact)
    met_.narrowest_beam = std::min(met_.narrowest_beam, effort.beam_width);
  return compositions;
}

// Returns the pairs that `compositions` use, in the same order, and changes the
// indices in `compositions` to match. This saves memory: a problem has a pair
// for every slice and island, and compositions use few of them.
std::vector<PlacedPair> PairSearch::KeepUsed(
    std::vector<PlacedPair> pairs, std::vector<Composition>& compositions) {
  std::map<int, int> kept;  // Old index to new.
  for (const Composition& composition : compositions) {
    for (const ComposedSlice& slice : composition.slices) kept[slice.pair] = 0;
  }
  std::vector<PlacedPair> used;
  for (auto& [old_index, new_index] : kept) {
    new_index = static_cast<int>(used.size());
    used.push_back(pairs[old_index]);
  }
  for (Composition& composition : compositions) {
    for (ComposedSlice& slice : composition.slices) {
      slice.pair = kept[slice.pair];
    }
  }
  return used;
}

// Returns a question for each plan in a composition within the limit that does
// not support its trailing stages.
std::vector<PairSearch::Question> PairSearch::OpenQuestions() const {
  std::set<std::pair<PairId, int>> wanted;
  for (int m = 0; m < static_cast<int>(composed_.size()); ++m) {
    const Composed& composed = composed_[m];
    for (const Composition& composition : composed.compositions) {
      if (composition.closed_form_s > Limit()) continue;
      for (const ComposedSlice& slice : composition.slices) {
        if (!slice.optimistic) continue;
        wanted.insert(
            {PairOf(m, composed.pairs[slice.pair]), slice.trailing_stages});
      }
    }
  }
  std::vector<Question> questions;
  for (const auto& [pair, trailing_stages] : wanted) {
    questions.push_back({pair, trailing_stages});
  }
  return questions;
}

}  // namespace tangram
