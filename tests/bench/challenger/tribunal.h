#ifndef TANGRAM_TESTS_BENCH_CHALLENGER_TRIBUNAL_H_
#define TANGRAM_TESTS_BENCH_CHALLENGER_TRIBUNAL_H_

#include <optional>
#include <vector>

#include "common/domain/model_spec.h"
#include "common/sim/stage_estimator.h"
#include "tests/bench/challenger/anneal.h"
#include "tests/bench/challenger/challenge.h"

namespace tangram::bench {

// Judges candidates by the rules and the judge of planning.
class Tribunal {
 public:
  explicit Tribunal(const Challenge& challenge);

  // Returns the plan as it will run, and its evaluation. Empty: it is not
  // legal, does not fit, or takes longer than `limit_s`.
  std::optional<JudgedPlan> Judge(const PipelinePlan& candidate,
                                  double limit_s);

  int num_played() const { return num_played_; }

 private:
  bool IsRunnable(const PipelinePlan& plan) const;
  bool MayRunOn(const PipelinePlan& plan) const;
  // Empty: the plan is not valid, does not fit or takes longer than `limit_s`.
  std::optional<Evaluation> Play(const PipelinePlan& plan, double limit_s);

  const Challenge& challenge_;
  StageEstimator estimator_;
  int num_played_ = 0;
};

}  // namespace tangram::bench

#endif  // TANGRAM_TESTS_BENCH_CHALLENGER_TRIBUNAL_H_
