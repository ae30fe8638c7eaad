#include "worker/adapters/mist/inter_stage.h"

#include <algorithm>
#include <tuple>

#include "common/base/infinity.h"

namespace tangram::mist {
namespace {

constexpr int kNone = -1;  // No index.

// The first stages of a pipeline. With E = Σ T + max(0, max_i (D_i − Σ_{j<i}
// T_j)), appending a stage (T, D) turns (max T, E) into
//
//   (max(max T, T), T + max(E, D)).
//
// This is monotone in both. So a label that another of the same layers equals
// or beats in both can be dropped, and Σ T itself need not be known.
struct Label {
  double slowest_s = 0;
  double span_s = 0;
  double last_s = 0;
  int before = kNone;  // Index of the label that it extends.
  StageChoice choice;
};

bool ByFigures(const Label& a, const Label& b) {
  return std::tie(a.slowest_s, a.span_s, a.last_s) <
         std::tie(b.slowest_s, b.span_s, b.last_s);
}

// Keeps the labels that no other equals or beats in slowest_s and span_s,
// sorted.
void KeepFront(std::vector<Label>& labels) {
  std::stable_sort(labels.begin(), labels.end(), ByFigures);
  double least_span_s = kInfinity;
  const auto worse = [&](const Label& label) {
    if (label.span_s >= least_span_s) return true;
    least_span_s = label.span_s;
    return false;
  };
  labels.erase(std::remove_if(labels.begin(), labels.end(), worse),
               labels.end());
}

// The same in slowest_s, span_s and last_s.
void KeepLastFront(std::vector<Label>& labels) {
  std::stable_sort(labels.begin(), labels.end(), ByFigures);
  std::vector<Label> kept;
  for (const Label& label : labels) {
    const bool worse =
        std::any_of(kept.begin(), kept.end(), [&](const Label& other) {
          return other.span_s <= label.span_s && other.last_s <= label.last_s;
        });
    if (!worse) kept.push_back(label);
  }
  labels = std::move(kept);
}

// Extends labels stage by stage: found(s + 1, end) holds the extensions of
// found(s, begin) by every policy of the layers [begin, end).
class DynamicProgram {
 public:
  explicit DynamicProgram(const InterStageProblem& problem)
      : problem_(problem), ending_at_(problem.num_layers + 1) {
    // The pipeline without stages.
    arena_.emplace_back();
    ending_at_[0] = {0, 1};
  }

  std::vector<StagedPipeline> Run() {
    for (int stage = 0; stage < problem_.num_stages; ++stage) Append(stage);
    std::vector<StagedPipeline> pipelines;
    const Range whole = ending_at_[problem_.num_layers];
    for (int i = whole.begin; i < whole.end; ++i) {
      pipelines.push_back(PipelineOf(i));
    }
    return pipelines;
  }

 private:
  // Labels [begin, end) of the arena.
  struct Range {
    int begin = 0;
    int end = 0;
  };

  // Turns the labels of `stage` stages into those of `stage` + 1 stages.
  void Append(int stage) {
    const bool is_last = stage + 1 == problem_.num_stages;
    std::vector<std::vector<Label>> found(problem_.num_layers + 1);
    for (int begin = 0; begin < problem_.num_layers; ++begin) {
      const Range before = ending_at_[begin];
      if (before.begin == before.end) continue;
      const int first_end = is_last ? problem_.num_layers : begin + 1;
      for (int end = first_end; end <= problem_.num_layers; ++end) {
        Extend(before, end, problem_.option(stage, begin, end), found[end]);
      }
    }
    for (int end = 0; end <= problem_.num_layers; ++end) {
      is_last ? KeepLastFront(found[end]) : KeepFront(found[end]);
      const int begin = static_cast<int>(arena_.size());
      arena_.insert(arena_.end(), found[end].begin(), found[end].end());
      ending_at_[end] = {begin, static_cast<int>(arena_.size())};
    }
  }

  void Extend(Range before, int end, const StageOption& option,
              std::vector<Label>& found) const {
    for (int k = 0; k < static_cast<int>(option.policies.size()); ++k) {
      const StagePolicy& policy = option.policies[k];
      const double steady_s = policy.steady_s + option.transfer_s;
      if (steady_s > problem_.slowest_bound_s) continue;
      for (int i = before.begin; i < before.end; ++i) {
        const Label& label = arena_[i];
        found.push_back(
            {.slowest_s = std::max(label.slowest_s, steady_s),
             .span_s = steady_s + std::max(label.span_s, policy.extra_s),
             .last_s = steady_s,
             .before = i,
             .choice = {.end = end, .policy = k}});
      }
    }
  }

  StagedPipeline PipelineOf(int label) const {
    StagedPipeline pipeline{.slowest_s = arena_[label].slowest_s,
                            .span_s = arena_[label].span_s,
                            .last_s = arena_[label].last_s};
    for (; arena_[label].before != kNone; label = arena_[label].before) {
      pipeline.stages.push_back(arena_[label].choice);
    }
    std::reverse(pipeline.stages.begin(), pipeline.stages.end());
    return pipeline;
  }

  const InterStageProblem& problem_;
  std::vector<Label> arena_;      // Labels of all numbers of stages.
  std::vector<Range> ending_at_;  // By number of layers covered; for the last
                                  // number of stages.
};

// One pipeline comes close to another if it exceeds it by at most this factor
// in every respect. A guess: with half and with twice the excess over 1, the
// plans of the paper's C1 and C3 workloads are the same.
constexpr double kClose = 1.005;

bool ComesClose(const StagedPipeline& a, const StagedPipeline& b) {
  return a.slowest_s <= kClose * b.slowest_s && a.span_s <= kClose * b.span_s &&
         a.last_s <= kClose * b.last_s;
}

}  // namespace

std::vector<StagedPipeline> ChoosePolicies(const InterStageProblem& problem) {
  return DynamicProgram(problem).Run();
}

std::vector<StagedPipeline> DistinctPipelines(std::vector<StagedPipeline> all,
                                              int num_microbatches) {
  const auto best = std::min_element(
      all.begin(), all.end(), [&](const auto& a, const auto& b) {
        return a.IterationSeconds(num_microbatches) <
               b.IterationSeconds(num_microbatches);
      });
  if (best != all.end()) std::rotate(all.begin(), best, best + 1);
  std::vector<StagedPipeline> kept;
  for (StagedPipeline& pipeline : all) {
    const bool needless =
        std::any_of(kept.begin(), kept.end(), [&](const StagedPipeline& other) {
          return ComesClose(other, pipeline);
        });
    if (!needless) kept.push_back(std::move(pipeline));
  }
  return kept;
}

}  // namespace tangram::mist
