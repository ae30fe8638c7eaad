#include "worker/adapters/search/stage_cuts.h"

#include <algorithm>
#include <limits>

namespace tangram {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

enum class Goal { kSlowest, kSum };

// From the last stage to the first: rest(i, b) is the best that stages i to the
// last can do with the layers from b on.
class CutTable {
 public:
  CutTable(const StageCutProblem& problem, double bound_s, Goal goal)
      : problem_(problem),
        bound_s_(bound_s),
        goal_(goal),
        rest_((problem.num_stages + 1) * (problem.num_layers + 1), {kNever}) {
    at(problem.num_stages, problem.num_layers).value_s = 0;
    const std::vector<int> latest = LatestBegins();
    for (int stage = problem.num_stages - 1; stage >= 0; --stage) {
      const int last = std::min(
          latest[stage], problem.num_layers - problem.num_stages + stage);
      for (int begin = stage; begin <= last; ++begin) Fill(stage, begin);
    }
  }

  double best_s() const { return rest_[0].value_s; }

  std::vector<int> Ends() const {
    std::vector<int> ends;
    int begin = 0;
    for (int stage = 0; stage < problem_.num_stages; ++stage) {
      begin = rest_[stage * (problem_.num_layers + 1) + begin].end;
      ends.push_back(begin);
    }
    return ends;
  }

 private:
  struct Entry {
    double value_s = kNever;
    int end = 0;  // Of the first stage of the rest.
  };

  Entry& at(int stage, int begin) {
    return rest_[stage * (problem_.num_layers + 1) + begin];
  }

  // How far the stages before each can get within the bound.
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

  void Fill(int stage, int begin) {
    Entry& best = at(stage, begin);
    for (int end = begin + 1; end <= problem_.num_layers; ++end) {
      const double rest_s = at(stage + 1, end).value_s;
      if (rest_s >= best.value_s) continue;
      const double least_s = problem_.least_seconds(begin, end);
      if (least_s > bound_s_) break;
      if (Joined(least_s, rest_s) >= best.value_s) continue;
      const double seconds = problem_.seconds(stage, begin, end);
      const double value_s = Joined(seconds, rest_s);
      if (seconds <= bound_s_ && value_s < best.value_s) {
        best = {.value_s = value_s, .end = end};
      }
    }
  }

  double Joined(double stage_s, double rest_s) const {
    return goal_ == Goal::kSlowest ? std::max(stage_s, rest_s)
                                   : stage_s + rest_s;
  }

  const StageCutProblem& problem_;
  const double bound_s_;
  const Goal goal_;
  std::vector<Entry> rest_;  // By stage and first layer.
};

}  // namespace

std::optional<double> LeastSlowestStage(const StageCutProblem& problem,
                                        double bound_s) {
  const double best_s = CutTable(problem, bound_s, Goal::kSlowest).best_s();
  if (best_s == kNever) return std::nullopt;
  return best_s;
}

std::optional<std::vector<int>> CutsOfLeastSum(const StageCutProblem& problem,
                                               double bound_s) {
  const CutTable table(problem, bound_s, Goal::kSum);
  if (table.best_s() == kNever) return std::nullopt;
  return table.Ends();
}

}  // namespace tangram
