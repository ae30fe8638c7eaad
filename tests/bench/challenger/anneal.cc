#include "tests/bench/challenger/anneal.h"

#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/infinity.h"
#include "tests/bench/challenger/draw.h"
#include "tests/bench/challenger/moves.h"
#include "tests/bench/challenger/tribunal.h"

namespace tangram::bench {
namespace {

// Temperatures, as fractions of the time of the current plan. Round r, from 0,
// begins at kHot / (1 + r).
constexpr double kHot = 0.03;
constexpr double kCold = 0.0001;

// One in so many steps changes more than borders and recomputation.
constexpr int kLargeOneIn = 3;

// A large move may take longer by this fraction before small moves suit it, and
// they end after so many without gain, or so many in all.
constexpr double kFar = 0.4;
constexpr int kFruitless = 15;
constexpr int kMostSmall = 80;

class Annealer {
 public:
  Annealer(const Challenge& challenge, const AnnealOptions& options)
      : challenge_(challenge),
        options_(options),
        tribunal_(challenge),
        draw_(options.seed) {}

  absl::StatusOr<Annealed> Run(const PipelinePlan& start) {
    std::optional<JudgedPlan> judged = tribunal_.Judge(start, kInfinity);
    if (!judged.has_value()) {
      return absl::InvalidArgumentError("the judge refuses the plan");
    }
    found_.best = *std::move(judged);
    for (int round = 0; round < options_.num_rounds; ++round) {
      current_ = found_.best;
      const auto end =
          int64_t{options_.num_steps} * (round + 1) / options_.num_rounds;
      const int begin = found_.num_steps;
      const double hot = kHot / (1 + round);
      while (found_.num_steps < end) {
        const double part =
            (found_.num_steps - begin) / static_cast<double>(end - begin);
        Step(hot * std::pow(kCold / hot, part), static_cast<int>(end));
      }
    }
    found_.num_played = tribunal_.num_played();
    return std::move(found_);
  }

 private:
  // Applies a drawn move to `plan` and notes its name.
  bool Change(absl::Span<const Move> moves, const JudgedPlan& from,
              PipelinePlan& plan, std::string& names) {
    const Move& move = DrawMove(moves, draw_);
    absl::StrAppend(&names, names.empty() ? "" : ", ", move.name);
    return move.change({challenge_, from.evaluation, draw_}, plan);
  }

  // Applies one large move, or several.
  bool ChangeMuch(PipelinePlan& plan, std::string& names) {
    do {
      const int list = draw_.Below(challenge_.changes_schedule ? 5 : 4);
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
    PipelinePlan plan = current_.plan;
    std::string names;
    const bool is_large = draw_.OneIn(kLargeOneIn);
    const bool is_changed = is_large
                                ? ChangeMuch(plan, names)
                                : Change(SmallMoves(), current_, plan, names);
    if (!is_changed || plan == current_.plan) return;
    const double far_s = is_large ? now_s * (1 + kFar) : limit_s;
    std::optional<JudgedPlan> judged = tribunal_.Judge(plan, far_s);
    if (!judged.has_value()) return;
    if (is_large) Suit(*judged, last_step);
    if (judged->evaluation.iteration_time_s > limit_s) return;
    current_ = *std::move(judged);
    NoteBest(names);
  }

  // Lets borders and recomputation suit the plan, by small moves that help.
  void Suit(JudgedPlan& judged, int last_step) {
    int fruitless = 0;
    for (int i = 0; i < kMostSmall && fruitless < kFruitless; ++i) {
      if (found_.num_steps >= last_step) return;
      ++found_.num_steps;
      ++fruitless;
      PipelinePlan plan = judged.plan;
      std::string names;
      if (!Change(SmallMoves(), judged, plan, names)) continue;
      const double now_s = judged.evaluation.iteration_time_s;
      std::optional<JudgedPlan> better = tribunal_.Judge(plan, now_s);
      if (!better.has_value()) continue;
      if (better->evaluation.iteration_time_s < now_s) fruitless = 0;
      judged = *std::move(better);
    }
  }

  void NoteBest(const std::string& names) {
    const double now_s = current_.evaluation.iteration_time_s;
    const double best_s = found_.best.evaluation.iteration_time_s;
    if (now_s >= best_s) return;
    found_.gains_s[names] += best_s - now_s;
    found_.best = current_;
  }

  const Challenge& challenge_;
  const AnnealOptions& options_;
  Tribunal tribunal_;
  Draw draw_;
  JudgedPlan current_;
  Annealed found_;
};

}  // namespace

absl::StatusOr<Annealed> Anneal(const Challenge& challenge,
                                const PipelinePlan& start,
                                const AnnealOptions& options) {
  return Annealer(challenge, options).Run(start);
}

}  // namespace tangram::bench
