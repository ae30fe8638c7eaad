// The part of PairSearch that composes pipelines of the answers.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "common/base/ordered_tasks.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/tangram/pair_search.h"

namespace tangram {

absl::Status PairSearch::ComposeAll() {
  while (true) {
    if (observer_.ShouldStop()) return absl::CancelledError("planning stopped");
    observer_.OnPhase(PlanPhase::kComposition);
    // A faster pipeline for one size lowers the limit for the others.
    TANGRAM_RETURN_IF_ERROR(ComposeChanged());
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

// Composes one microbatch size below the best pipeline that was known when it
// began.
class PairSearch::Composing : public OrderedTask {
 public:
  Composing(PairSearch& search, int microbatch)
      : search_(search),
        microbatch_(microbatch),
        problem_(search.ProblemFor(microbatch)) {}

  void Work(const TaskTurn& turn) override {
    problem_.should_stop = [this, &turn] {
      return turn.ShouldStop() || search_.observer_.ShouldStop();
    };
    compositions_ = ComposePipelines(problem_, &effort_);
  }

  bool IsStale() const override {
    return problem_.incumbent_s != search_.best_s_;
  }

  absl::Status Take() override {
    search_.CountComposition(effort_);
    TANGRAM_RETURN_IF_ERROR(compositions_.status());
    search_.Keep(microbatch_, std::move(problem_.pairs),
                 *std::move(compositions_));
    return absl::OkStatus();
  }

 private:
  PairSearch& search_;
  const int microbatch_;
  ComposeProblem problem_;
  ComposeEffort effort_;
  absl::StatusOr<std::vector<Composition>> compositions_;
};

// Composes the microbatch sizes that have new answers.
absl::Status PairSearch::ComposeChanged() {
  std::vector<int> changed;
  for (int m = 0; m < static_cast<int>(composed_.size()); ++m) {
    if (!composed_[m].changed) continue;
    composed_[m].changed = false;
    changed.push_back(m);
  }
  // A problem refers to the candidates that lessons corrected, which another of
  // the same microbatch size would correct again.
  TaskRunner* const tasks = borne_.empty() ? options_.tasks : nullptr;
  return RunTasks(tasks, static_cast<int>(changed.size()), [&](int i) {
    return std::make_unique<Composing>(*this, changed[i]);
  });
}

void PairSearch::Keep(int microbatch, std::vector<PlacedPair> pairs,
                      std::vector<Composition> compositions) {
  Composed& composed = composed_[microbatch];
  if (KeepsEarlier(compositions, composed.compositions)) return;
  composed.pairs = KeepUsed(std::move(pairs), compositions);
  composed.compositions = std::move(compositions);
  for (const Composition& composition : composed.compositions) {
    if (composition.optimistic || composition.closed_form_s >= best_s_) {
      continue;
    }
    best_s_ = composition.closed_form_s;
    observer_.OnBest(best_s_ / rules_.chunks);
  }
}

absl::StatusOr<std::vector<Composition>> PairSearch::Compose(
    const ComposeProblem& problem) {
  ComposeEffort effort;
  absl::StatusOr<std::vector<Composition>> compositions =
      ComposePipelines(problem, &effort);
  CountComposition(effort);
  return compositions;
}

void PairSearch::CountComposition(const ComposeEffort& effort) {
  ++stats_.compositions;
  if (effort.is_exact) return;
  met_.narrowest_beam = std::min(met_.narrowest_beam, effort.beam_width);
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
