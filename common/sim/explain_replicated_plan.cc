#include "common/sim/explain_replicated_plan.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/sim/describe.h"
#include "common/sim/explain_plan.h"

namespace tangram {
namespace {

double SamplesOf(const PipelineReplica& replica) {
  return 1.0 * replica.num_microbatches * replica.plan.pipeline_microbatch_size;
}

std::vector<GpuId> GpusOf(const PipelinePlan& plan) {
  std::vector<GpuId> gpus;
  for (int d = 0; d < plan.num_devices(); ++d) {
    const std::vector<GpuId>& more = plan.stages[d].gpus;
    gpus.insert(gpus.end(), more.begin(), more.end());
  }
  return gpus;
}

}  // namespace

std::vector<std::string> ExplainReplicatedPlan(
    const ModelSpec& model, const Cluster& cluster, const ReplicatedPlan& plan,
    const ReplicatedEvaluation& evaluation) {
  double samples = 0;
  for (const PipelineReplica& replica : plan.pipelines) {
    samples += SamplesOf(replica);
  }
  std::vector<std::string> sentences;
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    const PipelineReplica& replica = plan.pipelines[r];
    sentences.push_back(absl::StrFormat(
        "pipeline %d (%s) trains %s of the batch and would end alone after %s",
        r, DescribeGpus(cluster, GpusOf(replica.plan)),
        Percent(SamplesOf(replica) / samples),
        Seconds(evaluation.pipelines[r].iteration_time_s)));
  }
  if (plan.pipelines.size() > 1) {
    sentences.push_back(absl::StrFormat(
        "the pipelines exchange gradients (%s) from %s to %s; %s of it runs "
        "after the last pass",
        ReplicaSyncName(plan.sync), Seconds(evaluation.replica_sync_start_s),
        Seconds(evaluation.replica_sync_end_s),
        Seconds(evaluation.exposed_replica_sync_s)));
    sentences.push_back(
        "every sample must weigh the same: a runtime that averages the means "
        "of its pipelines must weigh each by its share of the batch");
  }
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    for (const std::string& sentence :
         ExplainPlan(model, cluster, plan.pipelines[r].plan,
                     WithinIteration(plan, evaluation, r))) {
      sentences.push_back(absl::StrCat("pipeline ", r, ": ", sentence));
    }
  }
  return sentences;
}

}  // namespace tangram
