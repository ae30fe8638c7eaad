#include "common/sim/explain_replicated_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/format.h"
#include "common/sim/describe.h"
#include "common/sim/explain_plan.h"
#include "common/sim/share_batch.h"

namespace tangram {
namespace {

// Smaller gains are not reported. Predictions are off by several percent.
constexpr double kNotable = 0.01;

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

// Returns the time of one pipeline as a function of its microbatches: it ended
// its passes at J(B), and one microbatch takes as long as on its slowest
// device.
PipelinePace PaceOf(const PipelineReplica& replica,
                    const Evaluation& evaluation) {
  const int num_devices = replica.plan.num_devices();
  std::vector<double> devices_s(num_devices);
  double end_s = 0;
  for (int s = 0; s < replica.plan.num_stages(); ++s) {
    const StageEvaluation& stage = evaluation.stages[s];
    devices_s[s % num_devices] += stage.forward_s + stage.backward_s;
    end_s = std::max(end_s, stage.passes_end_s);
  }
  const double microbatch_s =
      *std::max_element(devices_s.begin(), devices_s.end());
  return {.fill_s = end_s - replica.num_microbatches * microbatch_s,
          .microbatch_s = microbatch_s};
}

// Returns the shares with which the last pipeline would end its passes notably
// sooner if nothing followed them; empty if there are none, or if the pipelines
// have microbatches of unlike size.
std::vector<int64_t> BalancedShares(const ReplicatedPlan& plan,
                                    const ReplicatedEvaluation& evaluation) {
  std::vector<PipelinePace> paces;
  int64_t microbatches = 0;
  double end_s = 0;
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    const PipelineReplica& replica = plan.pipelines[r];
    if (replica.plan.pipeline_microbatch_size !=
        plan.pipelines[0].plan.pipeline_microbatch_size) {
      return {};
    }
    paces.push_back(PaceOf(replica, evaluation.pipelines[r]));
    microbatches += replica.num_microbatches;
    end_s = std::max(end_s, EndSeconds(paces[r], replica.num_microbatches));
  }
  std::vector<int64_t> shares = ShareMicrobatches(paces, microbatches);
  double better_s = 0;
  for (size_t r = 0; r < shares.size(); ++r) {
    if (shares[r] == 0) continue;
    better_s = std::max(better_s, EndSeconds(paces[r], shares[r]));
  }
  if (better_s > (1 - kNotable) * end_s) return {};
  return shares;
}

// Names shares of the batch that make the whole iteration notably shorter.
// Balanced passes can delay the exchange of gradients, and some schedules run
// only certain numbers of microbatches, so the plan with these shares is
// evaluated. Returns "" if it is illegal, does not fit or gains little.
std::string BetterShares(const ModelSpec& model, const Cluster& cluster,
                         const TrainingOptions& training,
                         const ReplicatedPlan& plan,
                         const ReplicatedEvaluation& evaluation) {
  const std::vector<int64_t> shares = BalancedShares(plan, evaluation);
  if (shares.empty()) return "";
  ReplicatedPlan better = plan;
  for (size_t r = 0; r < shares.size(); ++r) {
    better.pipelines[r].num_microbatches = static_cast<int>(shares[r]);
  }
  const absl::StatusOr<ReplicatedEvaluation> better_evaluation =
      EvaluateReplicatedPlan(model, cluster, training, better);
  if (!better_evaluation.ok() || !better_evaluation->fits()) return "";
  const double gain =
      1 - better_evaluation->iteration_time_s / evaluation.iteration_time_s;
  if (gain < kNotable) return "";
  return absl::StrFormat(
      "shares of %s microbatches would make the iteration about %s shorter",
      absl::StrJoin(shares, ", "), FormatPercent(gain));
}

std::string ShareSentence(const Cluster& cluster, const ReplicatedPlan& plan,
                          const ReplicatedEvaluation& evaluation, size_t r) {
  double samples = 0;
  for (const PipelineReplica& replica : plan.pipelines) {
    samples += SamplesOf(replica);
  }
  const PipelineReplica& replica = plan.pipelines[r];
  return absl::StrFormat(
      "pipeline %d (%s) trains %s of the batch and would end alone after %s", r,
      DescribeGpus(cluster, GpusOf(replica.plan)),
      FormatPercent(SamplesOf(replica) / samples),
      Seconds(evaluation.pipelines[r].iteration_time_s));
}

void AddPlanSentences(const ModelSpec& model, const Cluster& cluster,
                      const ReplicatedPlan& plan,
                      const ReplicatedEvaluation& evaluation, size_t r,
                      std::vector<std::string>& sentences) {
  for (const std::string& sentence :
       ExplainPlan(model, cluster, plan.pipelines[r].plan,
                   WithinIteration(plan, evaluation, r))) {
    sentences.push_back(absl::StrCat("pipeline ", r, ": ", sentence));
  }
}

}  // namespace

std::vector<std::string> ExplainPipeline(const ModelSpec& model,
                                         const Cluster& cluster,
                                         const ReplicatedPlan& plan,
                                         const ReplicatedEvaluation& evaluation,
                                         size_t r) {
  std::vector<std::string> sentences = {
      ShareSentence(cluster, plan, evaluation, r)};
  AddPlanSentences(model, cluster, plan, evaluation, r, sentences);
  return sentences;
}

std::vector<std::string> ExplainReplicatedPlan(
    const ModelSpec& model, const Cluster& cluster,
    const TrainingOptions& training, const ReplicatedPlan& plan,
    const ReplicatedEvaluation& evaluation) {
  std::vector<std::string> sentences;
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    sentences.push_back(ShareSentence(cluster, plan, evaluation, r));
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
  const std::string shares =
      BetterShares(model, cluster, training, plan, evaluation);
  if (!shares.empty()) sentences.push_back(shares);
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    AddPlanSentences(model, cluster, plan, evaluation, r, sentences);
  }
  return sentences;
}

}  // namespace tangram
