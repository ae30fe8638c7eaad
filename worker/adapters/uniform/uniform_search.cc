#include "worker/adapters/uniform/uniform_search.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "worker/adapters/search/stage_space.h"
#include "worker/adapters/uniform/uniform_evaluator.h"

namespace tangram {
namespace {

struct Candidate {
  UniformChoice choice;
  UniformFigures figures;
};

double LatencyAndSync(const UniformFigures& figures) {
  return figures.latency_s + figures.sync_s;
}

// `a` is as good as `b` in every respect.
bool Covers(const Candidate& a, const Candidate& b) {
  return a.figures.slowest_s <= b.figures.slowest_s &&
         a.figures.latency_s <= b.figures.latency_s &&
         LatencyAndSync(a.figures) <= LatencyAndSync(b.figures) &&
         a.choice.layout.num_stages <= b.choice.layout.num_stages &&
         a.figures.max_trailing_stages >= b.figures.max_trailing_stages;
}

class Search {
 public:
  Search(const ModelSlice& slice, const IslandSpec& island,
         const ParallelizeOptions& options)
      : island_(island),
        options_(options),
        evaluator_(slice, island, options),
        limits_(evaluator_.layers().kinds(), options.pipeline_microbatch_size,
                options.training.sequence_length) {}

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
  void TryWith(const EqualStages& layout, StageParallelism parallelism) {
    for (const int zero_stage : ZeroStagesOf(parallelism)) {
      parallelism.zero_stage = zero_stage;
      for (const LayerRecompute recompute : kLayerRecomputes) {
        const Candidate candidate = Evaluate({layout, parallelism, recompute});
        Keep(candidate);
        // Recomputing more would only be slower.
        if (candidate.figures.max_trailing_stages == kUnlimitedTrailingStages) {
          break;
        }
      }
    }
  }

  Candidate Evaluate(const UniformChoice& choice) {
    ++answer_.search_steps;
    return {.choice = choice, .figures = evaluator_.Evaluate(choice)};
  }

  void Keep(const Candidate& candidate) {
    if (candidate.figures.max_trailing_stages < options_.trailing_stages) {
      const double bytes_short = candidate.figures.bytes_short;
      least_short_ = std::min(least_short_.value_or(bytes_short), bytes_short);
      return;
    }
    for (const Candidate& kept : kept_) {
      if (Covers(kept, candidate)) return;
    }
    kept_.erase(std::remove_if(kept_.begin(), kept_.end(),
                               [&](const Candidate& kept) {
                                 return Covers(candidate, kept);
                               }),
                kept_.end());
    kept_.push_back(candidate);
  }

  SlicePlanSet Finish() {
    std::stable_sort(
        kept_.begin(), kept_.end(), [](const Candidate& a, const Candidate& b) {
          return std::tie(a.choice.layout.num_stages, a.figures.slowest_s) <
                 std::tie(b.choice.layout.num_stages, b.figures.slowest_s);
        });
    for (const Candidate& kept : kept_) {
      answer_.plans.push_back(evaluator_.PlanOf(kept.choice));
    }
    if (!answer_.truncated) {
      answer_.covers_trailing_stages = kUnlimitedTrailingStages;
    }
    if (answer_.plans.empty()) answer_.infeasible = WhyNone();
    return std::move(answer_);
  }

  Infeasible WhyNone() const {
    if (!least_short_.has_value()) return {.reason = "stopped before any plan"};
    return {.reason = "does not fit in memory", .bytes_short = *least_short_};
  }

  const IslandSpec& island_;
  const ParallelizeOptions& options_;
  UniformEvaluator evaluator_;
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
