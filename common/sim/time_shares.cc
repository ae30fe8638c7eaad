#include "common/sim/time_shares.h"

#include "common/sim/stage_figures.h"

namespace tangram {
namespace {

double NumGpus(const PipelinePlan& plan, int stage) {
  return static_cast<double>(plan.stages[stage].gpus.size());
}

}  // namespace

// Sums GPU-seconds over stages, and over the groups of mixed stages. A stage's
// collectives and copies take the same share of its busy time as of one
// microbatch:
//   collectives_s = busy_s · collective_s / (forward_s + backward_s).
std::vector<TimeShare> TimeShares(const PipelinePlan& plan,
                                  const Evaluation& evaluation) {
  // GPU-seconds.
  double passes = 0;
  double collectives = 0;
  double copies = 0;
  double waiting = 0;
  double sync = 0;
  double optimizer = 0;
  double all = 0;
  for (int s = 0; s < plan.num_stages(); ++s) {
    for (const auto& [num_gpus, part] : PartFiguresOf(plan, evaluation, s)) {
      passes += num_gpus * part->busy_s;
      collectives += num_gpus * part->busy_s * part->collective_s /
                     (part->forward_s + part->backward_s);
      copies += num_gpus * part->busy_s * part->copy_s /
                (part->forward_s + part->backward_s);
      sync += num_gpus * part->sync_s;
      optimizer += num_gpus * part->optimizer_s;
    }
  }
  for (int d = 0; d < plan.num_devices(); ++d) {
    waiting += NumGpus(plan, d) * evaluation.stages[d].idle_s;
    all += NumGpus(plan, d) * evaluation.iteration_time_s;
  }
  return {{"computation", (passes - collectives - copies) / all},
          {"collectives", collectives / all},
          {"copies from and to the host", copies / all},
          {"waiting for other stages", waiting / all},
          {"gradient synchronisation", sync / all},
          {"the optimizer", optimizer / all}};
}

double RecomputationShare(const PipelinePlan& plan,
                          const Evaluation& evaluation) {
  double recompute = 0;
  double all = 0;
  for (int s = 0; s < plan.num_stages(); ++s) {
    for (const auto& [num_gpus, part] : PartFiguresOf(plan, evaluation, s)) {
      recompute += num_gpus * part->busy_s * part->recompute_s /
                   (part->forward_s + part->backward_s);
    }
  }
  for (int d = 0; d < plan.num_devices(); ++d) {
    all += NumGpus(plan, d) * evaluation.iteration_time_s;
  }
  return recompute / all;
}

}  // namespace tangram
