#include "worker/adapters/search/stage_cuts.h"

#include <algorithm>

#include "common/base/infinity.h"

namespace tangram {
namespace {

// Fills a dynamic program from the last stage to the first. at(i, b) is the
// best value of stages i to the last with the layers from b on:
//   at(i, b) = min over e > b of join(value(i, b, e), at(i + 1, e))
// where stages with a least time above the bound are skipped.
class CutTable {
 public:
  template <typename Join>
  CutTable(const StageCutProblem& problem, double bound_s,
           StageCutProblem::OfStage value, Join join)
      : problem_(problem),
        bound_s_(bound_s),
        entries_((problem.num_stages + 1) * (problem.num_layers + 1)) {
    at(problem.num_stages, problem.num_layers).value = 0;
    const std::vector<int> latest = LatestBegins();
    int first_end = problem.num_layers;
    for (int stage = problem.num_stages - 1; stage >= 0; --stage) {
      const int last = std::min(
          latest[stage], problem.num_layers - (problem.num_stages - stage));
      for (int begin = stage; begin <= last && !stopped(); ++begin) {
        Fill(stage, begin, std::max(begin + 1, first_end), value, join);
      }
      // The stages from here on hold no more than so many layers.
      first_end = stage;
      while (first_end < problem.num_layers &&
             at(stage, first_end).value == kInfinity) {
        ++first_end;
      }
    }
  }

  double best() const { return stopped() ? kInfinity : entries_[0].value; }

  std::vector<int> Ends() const {
    std::vector<int> ends;
    int begin = 0;
    for (int stage = 0; stage < problem_.num_stages; ++stage) {
      begin = entries_[stage * (problem_.num_layers + 1) + begin].end;
      ends.push_back(begin);
    }
    return ends;
  }

 private:
  struct Entry {
    double value = kInfinity;
    int end = 0;  // End of the first of these stages.
  };

  bool stopped() const {
    return problem_.poll != nullptr && problem_.poll->stopped();
  }

  Entry& at(int stage, int begin) {
    return entries_[stage * (problem_.num_layers + 1) + begin];
  }

  // Returns the latest begin of each stage that the stages before it can reach
  // within the bound.
  std::vector<int> LatestBegins() const {
    std::vector<int> latest = {0};
    for (int stage = 0; stage + 1 < problem_.num_stages; ++stage) {
      int end = latest.back();
      while (end < problem_.num_layers &&
             problem_.least_seconds(latest.back(), end + 1) <= bound_s_) {
        ++end;
      }
      latest.push_back(end);
    }
    return latest;
  }

  // Tries ends from `first_end` on, before which the stages behind do not hold
  // the rest. Stops at the first end whose least time exceeds the bound: later
  // ends take no less.
  template <typename Join>
  void Fill(int stage, int begin, int first_end, StageCutProblem::OfStage value,
            Join join) {
    Entry& best = at(stage, begin);
    for (int end = first_end; end <= problem_.num_layers; ++end) {
      if (problem_.poll != nullptr && problem_.poll->After(1)) return;
      const double rest = at(stage + 1, end).value;
      if (rest >= best.value) continue;
      const double least_s = problem_.least_seconds(begin, end);
      if (least_s > bound_s_) break;
      if (join(least_s, rest) >= best.value) continue;
      const double joined = join(value(stage, begin, end), rest);
      if (joined < best.value) best = {.value = joined, .end = end};
    }
  }

  const StageCutProblem& problem_;
  const double bound_s_;
  std::vector<Entry> entries_;  // By stage and first layer.
};

}  // namespace

std::optional<double> LeastSlowestStage(const StageCutProblem& problem,
                                        double bound_s) {
  const CutTable table(
      problem, bound_s, problem.seconds,
      [](double stage, double rest) { return std::max(stage, rest); });
  if (table.best() > bound_s) return std::nullopt;
  return table.best();
}

std::vector<int> CutsOfLeastSum(const StageCutProblem& problem, double bound_s,
                                StageCutProblem::OfStage cost) {
  const CutTable table(problem, bound_s, cost,
                       [](double stage, double rest) { return stage + rest; });
  if (table.best() == kInfinity) return {};
  return table.Ends();
}

}  // namespace tangram
