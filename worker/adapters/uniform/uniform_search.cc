#include "worker/adapters/uniform/uniform_search.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "common/base/insert_non_dominated.h"
#include "common/domain/plan_merits.h"
#include "common/domain/stage_limits.h"
#include "worker/adapters/search/equal_stages_evaluator.h"
#include "worker/adapters/search/stage_space.h"
#include "worker/adapters/search/why_no_plan.h"

namespace tangram {
namespace {

// An evaluated choice.
struct Candidate {
  EqualStagesChoice choice;
  PlanMerits merits;
};

// Returns merits in which the last stage does not count, and synchronisation
// only as a part of the latency; see SearchUniform.
PlanMerits WeighedMerits(PlanMerits merits) {
  merits.last_stage_s = 0;
  merits.most_sync_s += merits.latency_s;
  return merits;
}

// Few frameworks shard experts fully, so such a plan is not one for others.
bool Covers(const Candidate& a, const Candidate& b) {
  return (!a.choice.parallelism.fsep || b.choice.parallelism.fsep) &&
         AtLeastAsGood(WeighedMerits(a.merits), WeighedMerits(b.merits));
}

class Search {
 public:
  Search(const ModelSlice& slice, const IslandSpec& island,
         const ParallelizeOptions& options)
      : island_(island),
        options_(options),
        evaluator_(slice, island, options),
        limits_(evaluator_.layers().kinds(), options.pipeline_microbatch_size,
                options.training) {}

  // Tries every layout with every parallelism. Stops between two parallelisms.
  SlicePlanSet Run() {
    for (const EqualStages& layout :
         LayoutsOf(island_, evaluator_.layers().size(),
                   StageSizes(island_, limits_, kUniformDegrees))) {
      for (const StageParallelism& parallelism : ParallelismsOf(
               layout.gpus_per_stage, island_, limits_, kUniformDegrees)) {
        if (options_.should_stop && options_.should_stop()) {
          answer_.truncated = true;
          return Finish();
        }
        TryWith(layout, parallelism);
      }
    }
    return Finish();
  }

 private:
  // Tries each ZeRO stage and recomputation for one layout and set of degrees.
  void TryWith(const EqualStages& layout, StageParallelism parallelism) {
    const absl::Span<const int> zero_stages =
        ZeroStagesOf(parallelism, island_.limits);
    if (zero_stages.empty()) return;
    SetZero(island_.limits, zero_stages.front(), parallelism);
    if (evaluator_.ExceedsLimit(
            evaluator_.LeastSeconds({layout, parallelism}))) {
      return;
    }
    for (const int zero_stage : zero_stages) {
      SetZero(island_.limits, zero_stage, parallelism);
      for (const LayerRecompute recompute : kLayerRecomputes) {
        const Candidate candidate = Evaluate({layout, parallelism, recompute});
        Keep(candidate);
        // More recomputation would only be slower.
        if (candidate.merits.max_trailing_stages == kUnlimitedTrailingStages) {
          break;
        }
      }
    }
  }

  Candidate Evaluate(const EqualStagesChoice& choice) {
    ++answer_.search_steps;
    return {.choice = choice, .merits = evaluator_.Evaluate(choice)};
  }

  // Keeps a candidate unless it lacks memory or is dominated. It must be the
  // one evaluated last.
  void Keep(const Candidate& candidate) {
    if (candidate.merits.max_trailing_stages < options_.trailing_stages) {
      NoteShortage(evaluator_.BytesShort(options_.trailing_stages),
                   least_short_);
      return;
    }
    InsertNonDominated(candidate, Covers, kept_);
  }

  SlicePlanSet Finish() {
    // Sorts plans by number of stages, then by slowest stage, so that the
    // answer has one order.
    std::stable_sort(
        kept_.begin(), kept_.end(), [](const Candidate& a, const Candidate& b) {
          return std::tie(a.merits.num_stages, a.merits.slowest_stage_s) <
                 std::tie(b.merits.num_stages, b.merits.slowest_stage_s);
        });
    for (const Candidate& kept : kept_) {
      if (evaluator_.ExceedsLimit(kept.merits)) continue;
      answer_.plans.push_back(evaluator_.PlanOf(kept.choice, "uniform"));
    }
    if (!answer_.truncated) {
      answer_.covers_trailing_stages = kUnlimitedTrailingStages;
    }
    ExplainNoPlan([this] { return least_short_; }, options_.limit_s, answer_);
    return std::move(answer_);
  }

  const IslandSpec& island_;
  const ParallelizeOptions& options_;
  EqualStagesEvaluator evaluator_;
  const SplitLimits limits_;
  std::vector<Candidate> kept_;
  std::optional<double> least_short_;
  SlicePlanSet answer_;
};

}  // namespace

SlicePlanSet SearchUniform(const ModelSlice& slice, const IslandSpec& island,
                           const ParallelizeOptions& options) {
  return Search(slice, island, options).Run();
}

}  // namespace tangram
