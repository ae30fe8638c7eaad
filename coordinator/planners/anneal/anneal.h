#ifndef TANGRAM_COORDINATOR_PLANNERS_ANNEAL_ANNEAL_H_
#define TANGRAM_COORDINATOR_PLANNERS_ANNEAL_ANNEAL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "common/domain/pipeline_plan.h"
#include "common/sim/evaluate_plan.h"
#include "coordinator/planners/anneal/anneal_problem.h"

namespace tangram::anneal {

struct AnnealOptions {
  int num_steps = 20000;  // Plans tried.
  uint64_t seed = 1;
  int num_rounds = 8;  // Each begins warm, with the best plan so far.
  std::function<bool()> should_stop;  // Polled often. Empty: never.
};

struct JudgedPlan {
  PipelinePlan plan;
  Evaluation evaluation;  // It has no violations.
};

struct Annealed {
  JudgedPlan best;
  int num_steps = 0;
  int num_played = 0;  // Legal plans that were played to the end.
  // Seconds by which each kind of move made the best plan faster.
  std::map<std::string, double> gains_s;
};

// Searches a faster plan by simulated annealing over whole plans (Kirkpatrick
// et al. 1983): a candidate that takes longer by the fraction d is kept with
// probability exp(−d / T). T falls geometrically to 0.01 %, from 3 % in the
// first round and less in the later ones. It knows nothing of how plans are
// searched. Each candidate is judged like the plans of all planners, and is one
// that the runtime runs.
//
// A change of GPUs or degrees is slow until borders and recomputation suit it,
// so it gets some small moves before it is kept or not. They count as steps.
//
// kInvalidArgument if the judge refuses `start`; kCancelled if it is stopped.
// The result is never slower, and the same for the same seed and number of
// steps.
absl::StatusOr<Annealed> Anneal(const AnnealProblem& problem,
                                const PipelinePlan& start,
                                const AnnealOptions& options);

class CandidateJudge;

// Likewise with a judge that knows stages of other plans, from a plan that it
// accepted.
absl::StatusOr<Annealed> Anneal(const AnnealProblem& problem,
                                CandidateJudge& judge, JudgedPlan start,
                                const AnnealOptions& options);

}  // namespace tangram::anneal

#endif  // TANGRAM_COORDINATOR_PLANNERS_ANNEAL_ANNEAL_H_
