#include "common/domain/replicated_plan.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/field_error.h"
#include "common/base/in_field.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "common/domain/mixed_stage_rules.h"

namespace tangram {
namespace {

// Tolerance for fractions that are written with few digits.
constexpr double kFractionTolerance = 1e-6;

std::string FieldOf(size_t pipeline) {
  return absl::StrCat("pipelines[", pipeline, "]");
}

absl::Status CheckShares(const TrainingOptions& training,
                         const ReplicatedPlan& plan) {
  int64_t samples = 0;
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    const PipelineReplica& replica = plan.pipelines[r];
    if (replica.num_microbatches <= 0) {
      return FieldError(FieldOf(r) + ".num_microbatches",
                        absl::StrCat(replica.num_microbatches),
                        "a positive integer");
    }
    if (replica.plan.pipeline_microbatch_size <= 0) {
      return FieldError(FieldOf(r) + ".plan.pipeline_microbatch_size",
                        absl::StrCat(replica.plan.pipeline_microbatch_size),
                        "a positive integer");
    }
    samples += int64_t{replica.num_microbatches} *
               replica.plan.pipeline_microbatch_size;
    if (samples > training.global_batch_size) break;
  }
  if (samples == training.global_batch_size) return absl::OkStatus();
  return FieldError(
      "pipelines.num_microbatches", absl::StrCat(samples, " samples"),
      absl::StrCat("the global batch size, ", training.global_batch_size));
}

absl::Status CheckStateFractions(const ReplicatedPlan& plan) {
  double sum = 0;
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    const double fraction = plan.pipelines[r].state_fraction;
    const bool is_sharded = plan.sync != ReplicaSync::kAllReduce;
    // Written so that NaN fails.
    if (!(is_sharded ? fraction > 0 && fraction <= 1 : fraction == 0)) {
      return FieldError(FieldOf(r) + ".state_fraction", absl::StrCat(fraction),
                        is_sharded ? "a fraction above 0, at most 1"
                                   : "none with all-reduce");
    }
    sum += fraction;
  }
  if (plan.sync == ReplicaSync::kAllReduce ||
      std::abs(sum - 1) <= kFractionTolerance) {
    return absl::OkStatus();
  }
  return FieldError("pipelines.state_fraction", absl::StrCat("a sum of ", sum),
                    "a sum of 1");
}

// Bounds the work of the evaluator. Segments lie between the cuts of all
// pipelines. Each is exchanged among all pipelines, with kZero2 once for each
// microbatch.
absl::Status CheckExchanges(const ReplicatedPlan& plan) {
  int64_t num_segments = 0;
  int64_t num_microbatches = 0;
  for (const PipelineReplica& replica : plan.pipelines) {
    num_segments += replica.plan.num_stages();
    num_microbatches += replica.num_microbatches;
  }
  const int64_t num_pipelines = static_cast<int64_t>(plan.pipelines.size());
  if (num_pipelines > kMaxReplicaExchanges / num_segments) {
    return FieldError(
        "pipelines", num_pipelines,
        absl::StrFormat("at most %d with %d stages",
                        kMaxReplicaExchanges / num_segments, num_segments));
  }
  if (plan.sync != ReplicaSync::kZero2 ||
      num_microbatches * num_pipelines <= kMaxReplicaExchanges / num_segments) {
    return absl::OkStatus();
  }
  return FieldError(
      "sync", ReplicaSyncName(plan.sync),
      absl::StrFormat("all-reduce or zero1, or at most %d microbatches",
                      kMaxReplicaExchanges / num_segments / num_pipelines));
}

// Bounds the passes that the evaluator plays one by one, over all pipelines.
absl::Status CheckRoutedPasses(const ReplicatedPlan& plan) {
  int64_t num_passes = 0;
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    const PipelineReplica& replica = plan.pipelines[r];
    // A pipeline alone has at most kMaxRoutedPasses, so the sum does not
    // overflow.
    num_passes += RoutedPasses(replica.plan, replica.num_microbatches);
    if (num_passes <= kMaxRoutedPasses) continue;
    return FieldError(
        FieldOf(r) + ".num_microbatches", replica.num_microbatches,
        absl::StrFormat("at most %d passes of all pipelines up to this one "
                        "that route microbatches, not %d",
                        kMaxRoutedPasses, num_passes));
  }
  return absl::OkStatus();
}

absl::Status CheckDisjoint(const Cluster& cluster, const ReplicatedPlan& plan) {
  std::map<GpuId, size_t> owners;
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    const PipelinePlan& pipeline = plan.pipelines[r].plan;
    for (int s = 0; s < pipeline.num_stages(); ++s) {
      for (size_t g = 0; g < pipeline.stages[s].gpus.size(); ++g) {
        const GpuId gpu = pipeline.stages[s].gpus[g];
        const auto [owner, is_new] = owners.try_emplace(gpu, r);
        if (is_new || owner->second == r) continue;
        return FieldError(
            absl::StrFormat("pipelines[%d].plan.stages[%d].gpus[%d]", r, s, g),
            absl::StrFormat("GPU %d of node %s, which pipelines[%d] uses",
                            gpu.index, cluster.nodes[gpu.node].name,
                            owner->second),
            "each GPU in one pipeline at most");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

const char* ReplicaSyncName(ReplicaSync sync) {
  switch (sync) {
    case ReplicaSync::kAllReduce:
      return "all-reduce";
    case ReplicaSync::kZero1:
      return "zero1";
    case ReplicaSync::kZero2:
      return "zero2";
  }
  return "";
}

TrainingOptions ShareOf(const TrainingOptions& training,
                        const PipelineReplica& replica) {
  TrainingOptions share = training;
  share.global_batch_size =
      replica.num_microbatches * replica.plan.pipeline_microbatch_size;
  return share;
}

absl::Status ValidateReplicatedPlan(const ModelSpec& model,
                                    const Cluster& cluster,
                                    const TrainingOptions& training,
                                    const ReplicatedPlan& plan) {
  if (plan.pipelines.empty()) {
    return FieldError("pipelines", "none", "at least one");
  }
  TANGRAM_RETURN_IF_ERROR(CheckShares(training, plan));
  TANGRAM_RETURN_IF_ERROR(CheckStateFractions(plan));
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    const PipelineReplica& replica = plan.pipelines[r];
    TANGRAM_RETURN_IF_ERROR(
        InField(FieldOf(r) + ".plan",
                ValidatePlan(model, cluster, ShareOf(training, replica),
                             replica.plan)));
  }
  TANGRAM_RETURN_IF_ERROR(CheckRoutedPasses(plan));
  TANGRAM_RETURN_IF_ERROR(CheckExchanges(plan));
  return CheckDisjoint(cluster, plan);
}

}  // namespace tangram
