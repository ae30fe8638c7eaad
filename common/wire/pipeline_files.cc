#include "common/wire/pipeline_files.h"

#include <cstddef>
#include <utility>

namespace tangram {
std::vector<PlanFile> PipelineFiles(const PlanFile& file) {
  const ReplicatedPlan& plan = *file.result.replicated_plan;
  const ReplicatedEvaluation& evaluation = file.result.replicated_evaluation;
  std::vector<PlanFile> files;
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    const PipelineReplica& replica = plan.pipelines[r];
    PlanFile pipeline = {.cluster = file.cluster,
                         .model = file.model,
                         .training = ShareOf(file.training, replica),
                         .provenance = file.provenance};
    pipeline.result.islands = file.result.islands;
    pipeline.result.plan = replica.plan;
    pipeline.result.notes = file.result.notes;
    // There are no figures if the file was not evaluated yet.
    if (r < evaluation.pipelines.size()) {
      pipeline.result.evaluation = WithinIteration(plan, evaluation, r);
    }
    files.push_back(std::move(pipeline));
  }
  return files;
}

}  // namespace tangram
