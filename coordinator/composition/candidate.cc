#include "coordinator/composition/candidate.h"

#include <algorithm>

namespace tangram {

Candidate MakeCandidate(const SlicePlan& plan) {
  Candidate candidate{
      .slowest_s = plan.slowest_stage_s(),
      .latency_s = plan.latency_s(),
      .last_stage_s = plan.stages.back().time_s,
      .num_stages = plan.num_stages(),
      .max_trailing_stages = plan.max_trailing_stages,
      .first_stage_gpus = plan.stages.front().plan.parallelism.num_gpus(),
      .last_stage_gpus = plan.stages.back().plan.parallelism.num_gpus()};
  // exposed = max_s (sync_s − Σ_{i<s} backward_i): stage s synchronises while
  // the stages before it still run their last backward passes.
  for (const SliceStage& stage : plan.stages) {
    candidate.exposed_sync_s =
        std::max(candidate.exposed_sync_s, stage.sync_s - candidate.backward_s);
    candidate.backward_s += stage.backward_s;
    candidate.num_gpus += stage.plan.parallelism.num_gpus();
  }
  return candidate;
}

}  // namespace tangram
