#ifndef TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_INTER_OPERATOR_H_
#define TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_INTER_OPERATOR_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "common/base/infinity.h"
#include "worker/adapters/alpa/alpa_inter_operator_problem.h"

namespace tangram::alpa {

// One stage of a solution: layers [begin, end) on the devices of a submesh.
struct ChosenStage {
  int begin = 0;
  int end = 0;
  int first_device = 0;
  int submesh = 0;
  int config = 0;  // StageOption::config of the chosen option.

  bool operator==(const ChosenStage&) const = default;
};

// A solution of the inter-operator problem.
struct ChosenPipeline {
  double slowest_s = 0;  // Time of the slowest stage.
  double latency_s = 0;  // Sum of stage times.
  std::vector<ChosenStage> stages;
};

struct InterOperatorOptions {
  int num_microbatches = 1;
  int trailing_stages = 0;  // Stages behind the slice.
  // Pipelines are of no use if their closed form, of StageOption::pass_s and
  // transfers, exceeds it.
  double limit_s = kInfinity;
  // Whether a pipeline of fewer stages is no better for that, so that it keeps
  // out none of more.
  bool each_depth = false;
  // Polled once for each number of stages. Empty: never stops.
  std::function<bool()> should_stop;
};

struct InterOperatorAnswer {
  // Sorted by number of stages, then by ascending total, and so by descending
  // latency.
  std::vector<ChosenPipeline> pipelines;
  int64_t steps = 0;  // Number of partial pipelines considered.
  // Stopped by should_stop before its end.
  bool truncated = false;
};

// Solves the inter-operator problem. With B microbatches, stage times t_s and
// their maximum t, the paper's dynamic program (2201.12023 §5.2) finds the
// least total Σ t_s + (B - 1)·t that fits in memory. Stage s from the end must
// bear s - 1 + trailing stages.
//
// This function returns every pipeline that can become the best once other
// stages precede or follow. These are the pipelines that none with at most as
// many stages beats in both total and latency Σ t_s. (If another stage is the
// slowest, only latency counts. For every time of that stage, the pipeline that
// is better in both stays better.) With each_depth, only pipelines with as many
// stages are compared. Pipelines above the limit are left out, and so do not
// keep out others, as the total counts more than the closed form.
//
// Deviates from the paper, which solves
//   f(s, i, d) = min over k, m, c of f(s - 1, k, d - |m|) + C[i][k][m][c]
// once for each bound on t. Here each state keeps all labels that are not
// dominated, so one pass serves all bounds.
InterOperatorAnswer SolveInterOperator(const InterOperatorProblem& problem,
                                       const InterOperatorOptions& options);

}  // namespace tangram::alpa

#endif  // TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_INTER_OPERATOR_H_
