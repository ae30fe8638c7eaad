#include "coordinator/planners/anneal/anneal.h"

#include <cmath>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_join.h"
#include "common/base/infinity.h"
#include "coordinator/planners/anneal/candidate_judge.h"
#include "coordinator/planners/anneal/draw.h"
#include "coordinator/planners/anneal/moves.h"

namespace tangram::anneal {
namespace {

// Temperatures, as fractions of the time of the current plan. Round r, from 0,
// begins at kHot / (1 + r).
constexpr double kHot = 0.03;
constexpr double kCold = 0.0001;

// One in so many steps changes more than borders and recomputation.
constexpr int kLargeOneIn = 3;

// One in so many large moves is settled before it is judged, and one in so many
// of these is tuned. The others keep what stages recompute, shard and keep on
// the host.
constexpr int kSettledOneIn = 2;
constexpr int kTunedOneIn = 4;

// A large move may take longer by this fraction before small moves suit it, and
// they end after so many without gain, or so many in all.
constexpr double kFar = 0.4;
constexpr int kFruitless = 15;
constexpr int kMostSmall = 80;

class Annealer {
 public:
  Annealer(const AnnealProblem& problem, CandidateJudge& judge,
           const AnnealOptions& options)
      : problem_(problem),
        options_(options),
        judge_(judge),
        draw_(options.seed),
        cuts_(CutListsOf(problem.request.model)) {}

  absl::StatusOr<Annealed> Run(JudgedPlan start) {
    const int num_played = judge_.num_played();
    found_.best = std::move(start);
    for (int round = 0; round < options_.num_rounds; ++round) {
      current_ = found_.best;
      const auto end =
          int64_t{options_.num_steps} * (round + 1) / options_.num_rounds;
      const int begin = found_.num_steps;
      const double hot = kHot / (1 + round);
      while (found_.num_steps < end) {
        if (options_.should_stop && options_.should_stop()) {
          return absl::CancelledError("planning stopped");
        }
        const double part =
            (found_.num_steps - begin) / static_cast<double>(end - begin);
        Step(hot * std::pow(kCold / hot, part), static_cast<int>(end));
      }
    }
    found_.num_played = judge_.num_played() - num_played;
    return std::move(found_);
  }

 private:
  // Names of moves, in order. Most steps do not need them as a text.
  using Names = absl::InlinedVector<const char*, 8>;

  // Applies a drawn move to `plan` and notes its name.
  bool Change(absl::Span<const Move> moves, const JudgedPlan& from,
              PipelinePlan& plan, Names& names) {
    const Move& move = DrawMove(moves, draw_);
    names.push_back(move.name);
    return move.change({problem_, from.evaluation, draw_, cuts_}, plan);
  }

  // Applies one large move, or several.
  bool ChangeMuch(PipelinePlan& plan, Names& names) {
    do {
      const int list = draw_.Below(problem_.changes_schedule ? 5 : 4);
      const absl::Span<const Move> moves = list < 2    ? GpuMoves()
                                           : list == 4 ? ScheduleMoves()
                                                       : StageMoves();
      if (!Change(moves, current_, plan, names)) return false;
    } while (draw_.OneIn(3));
    return true;
  }

  // Tries one change of the current plan.
  void Step(double temperature, int last_step) {
    ++found_.num_steps;
    const double now_s = current_.evaluation.iteration_time_s;
    const double limit_s =
        now_s * (1 - temperature * std::log(draw_.Fraction()));
    PipelinePlan& plan = changed_ = current_.plan;
    Names names;
    const bool is_large = draw_.OneIn(kLargeOneIn);
    const bool is_changed = is_large
                                ? ChangeMuch(plan, names)
                                : Change(SmallMoves(), current_, plan, names);
    if (!is_changed || plan == current_.plan) return;
    std::optional<JudgedPlan> judged =
        is_large ? Landed(plan, now_s * (1 + kFar), last_step)
                 : judge_.Judge(plan, limit_s);
    if (is_large && judged.has_value()) {
      judged = judge_.Judge(PipelinePlan(judged->plan), limit_s);
    }
    if (!judged.has_value()) return;
    current_ = *std::move(judged);
    NoteBest(names);
  }

  // Returns the plan once it is suited, for no runtime. Empty: it takes too
  // long, or is not legal.
  std::optional<JudgedPlan> Landed(const PipelinePlan& plan, double far_s,
                                   int last_step) {
    std::optional<JudgedPlan> judged =
        draw_.OneIn(kSettledOneIn)
            ? judge_.JudgeSettled(plan, draw_.OneIn(kTunedOneIn), far_s)
            : judge_.JudgeUnfitted(plan, far_s);
    if (judged.has_value()) Suit(*judged, last_step);
    return judged;
  }

  // Lets borders and recomputation suit the plan, by small moves that help.
  void Suit(JudgedPlan& judged, int last_step) {
    int fruitless = 0;
    for (int i = 0; i < kMostSmall && fruitless < kFruitless; ++i) {
      if (found_.num_steps >= last_step) return;
      ++found_.num_steps;
      ++fruitless;
      PipelinePlan& plan = suited_ = judged.plan;
      Names names;
      if (!Change(SmallMoves(), judged, plan, names)) continue;
      const double now_s = judged.evaluation.iteration_time_s;
      std::optional<JudgedPlan> better = judge_.JudgeUnfitted(plan, now_s);
      if (!better.has_value()) continue;
      if (better->evaluation.iteration_time_s < now_s) fruitless = 0;
      judged = *std::move(better);
    }
  }

  void NoteBest(const Names& names) {
    const double now_s = current_.evaluation.iteration_time_s;
    const double best_s = found_.best.evaluation.iteration_time_s;
    if (now_s >= best_s) return;
    found_.gains_s[absl::StrJoin(names, ", ")] += best_s - now_s;
    found_.best = current_;
  }

  const AnnealProblem& problem_;
  const AnnealOptions& options_;
  CandidateJudge& judge_;
  Draw draw_;
  const CutLists cuts_;
  JudgedPlan current_;
  // Copies that moves change. Their memory is used again.
  PipelinePlan changed_;
  PipelinePlan suited_;
  Annealed found_;
};

}  // namespace

absl::StatusOr<Annealed> Anneal(const AnnealProblem& problem,
                                const PipelinePlan& start,
                                const AnnealOptions& options) {
  CandidateJudge judge(problem);
  std::optional<JudgedPlan> judged = judge.Judge(start, kInfinity);
  if (!judged.has_value()) {
    return absl::InvalidArgumentError("the judge refuses the plan");
  }
  return Anneal(problem, judge, *std::move(judged), options);
}

absl::StatusOr<Annealed> Anneal(const AnnealProblem& problem,
                                CandidateJudge& judge, JudgedPlan start,
                                const AnnealOptions& options) {
  return Annealer(problem, judge, options).Run(std::move(start));
}

}  // namespace tangram::anneal
