#ifndef TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_INTER_OPERATOR_H_
#define TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_INTER_OPERATOR_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "worker/adapters/alpa/alpa_inter_operator_problem.h"

namespace tangram::alpa {

struct ChosenStage {
  int begin = 0;
  int end = 0;
  int first_device = 0;
  int submesh = 0;
  int config = 0;

  bool operator==(const ChosenStage&) const = default;
};

struct ChosenPipeline {
  double slowest_s = 0;
  double latency_s = 0;
  std::vector<ChosenStage> stages;
};

struct InterOperatorOptions {
  int num_microbatches = 1;
  int trailing_stages = 0;  // That follow the pipeline.
  // Polled once for each number of stages. Empty: never stop.
  std::function<bool()> should_stop;
};

struct InterOperatorAnswer {
  // By number of stages; then by total, ascending, and by latency, descending.
  std::vector<ChosenPipeline> pipelines;
  int64_t steps = 0;  // Partial pipelines considered.
  bool truncated = false;
};

// With B microbatches, stage times t_s and their maximum t, the paper's dynamic
// program (2201.12023 §5.2) finds the least total Σ t_s + (B - 1)·t that fits
// in memory: stage s from the end must bear s - 1 + trailing stages. Here the
// answer is all that can become the best once other stages precede or follow:
// the pipelines that none with as few stages beats in both total and latency
// Σ t_s. (Where some other stage is the slowest, latency alone counts; however
// slow it is, the one that is better in both stays so.)
//
// Deviates from the paper, which for every bound on t solves anew
//   f(s, i, d) = min over k, m, c of f(s - 1, k, d - |m|) + C[i][k][m][c]:
// each state keeps all that is not beaten, so that one pass serves all bounds.
InterOperatorAnswer SolveInterOperator(const InterOperatorProblem& problem,
                                       const InterOperatorOptions& options);

}  // namespace tangram::alpa

#endif  // TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_INTER_OPERATOR_H_
