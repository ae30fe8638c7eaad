#include "common/wire/replicated_plan_wire.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/wire/evaluation_wire.h"
#include "common/wire/field_checks.h"
#include "common/wire/iteration_wire.h"
#include "common/wire/pipeline_plan_wire.h"
#include "tangram/v1/plan.pb.h"

namespace tangram {
namespace {

absl::StatusOr<ReplicaSync> DecodeSync(const std::string& name) {
  if (name.empty()) return ReplicaSync::kAllReduce;
  for (const ReplicaSync sync : kReplicaSyncs) {
    if (name == ReplicaSyncName(sync)) return sync;
  }
  return FieldError("sync", absl::StrCat("\"", name, "\""),
                    "all-reduce, zero1 or zero2");
}

absl::StatusOr<PipelineReplica> FromProto(const v1::PipelineReplica& message,
                                          const Cluster& cluster) {
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckPositive("num_microbatches", message.num_microbatches(), kMaxBatch),
       CheckFinite("state_fraction", message.state_fraction())}));
  PipelineReplica replica{.num_microbatches = message.num_microbatches(),
                          .state_fraction = message.state_fraction()};
  TANGRAM_ASSIGN_OR_RETURN(
      replica.plan,
      InField("plan", tangram::FromProto(message.plan(), cluster)));
  return replica;
}

}  // namespace

v1::ReplicatedPlan ToProto(const ReplicatedPlan& plan, const Cluster& cluster,
                           const ModelSpec& model) {
  v1::ReplicatedPlan message;
  message.set_sync(ReplicaSyncName(plan.sync));
  for (const PipelineReplica& replica : plan.pipelines) {
    v1::PipelineReplica& encoded = *message.add_pipelines();
    *encoded.mutable_plan() = ToProto(replica.plan, cluster, model);
    encoded.set_num_microbatches(replica.num_microbatches);
    encoded.set_state_fraction(replica.state_fraction);
  }
  return message;
}

absl::StatusOr<ReplicatedPlan> FromProto(const v1::ReplicatedPlan& message,
                                         const Cluster& cluster) {
  TANGRAM_RETURN_IF_ERROR(
      CheckPositive("pipelines", message.pipelines_size(), kMaxGpus));
  ReplicatedPlan plan;
  TANGRAM_ASSIGN_OR_RETURN(plan.sync, DecodeSync(message.sync()));
  for (int r = 0; r < message.pipelines_size(); ++r) {
    TANGRAM_ASSIGN_OR_RETURN(
        PipelineReplica replica,
        InField("pipelines", r, FromProto(message.pipelines(r), cluster)));
    plan.pipelines.push_back(std::move(replica));
  }
  return plan;
}

v1::ReplicatedEvaluation ToProto(const ReplicatedEvaluation& evaluation) {
  v1::ReplicatedEvaluation message;
  EncodeIteration(evaluation, message);
  message.set_replica_sync_start_s(evaluation.replica_sync_start_s);
  message.set_replica_sync_end_s(evaluation.replica_sync_end_s);
  message.set_exposed_replica_sync_s(evaluation.exposed_replica_sync_s);
  for (const Evaluation& pipeline : evaluation.pipelines) {
    *message.add_pipelines() = ToProto(pipeline);
  }
  return message;
}

absl::StatusOr<ReplicatedEvaluation> FromProto(
    const v1::ReplicatedEvaluation& message) {
  ReplicatedEvaluation evaluation{
      .replica_sync_start_s = message.replica_sync_start_s(),
      .replica_sync_end_s = message.replica_sync_end_s(),
      .exposed_replica_sync_s = message.exposed_replica_sync_s()};
  TANGRAM_RETURN_IF_ERROR(DecodeIteration(message, evaluation));
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckFinite("replica_sync_start_s", evaluation.replica_sync_start_s),
       CheckFinite("replica_sync_end_s", evaluation.replica_sync_end_s),
       CheckFinite("exposed_replica_sync_s",
                   evaluation.exposed_replica_sync_s)}));
  for (int r = 0; r < message.pipelines_size(); ++r) {
    TANGRAM_ASSIGN_OR_RETURN(
        Evaluation pipeline,
        InField("pipelines", r, FromProto(message.pipelines(r))));
    evaluation.pipelines.push_back(std::move(pipeline));
  }
  return evaluation;
}

}  // namespace tangram
