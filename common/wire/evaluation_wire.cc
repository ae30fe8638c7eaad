#include "common/wire/evaluation_wire.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/wire/field_checks.h"
#include "common/wire/iteration_wire.h"
#include "tangram/v1/plan.pb.h"

namespace tangram {
namespace {

v1::StageEvaluation ToProto(const StageEvaluation& stage) {
  v1::StageEvaluation message;
  message.set_forward_s(stage.forward_s);
  message.set_backward_s(stage.backward_s);
  message.set_recompute_s(stage.recompute_s);
  message.set_collective_s(stage.collective_s);
  message.set_send_s(stage.send_s);
  message.set_sync_s(stage.sync_s);
  message.set_optimizer_s(stage.optimizer_s);
  message.set_busy_s(stage.busy_s);
  message.set_idle_s(stage.idle_s);
  message.set_in_flight(stage.in_flight);
  message.set_static_bytes(stage.static_bytes);
  message.set_weight_bytes(stage.weight_bytes);
  message.set_gradient_bytes(stage.gradient_bytes);
  message.set_optimizer_bytes(stage.optimizer_bytes);
  message.set_activation_bytes(stage.activation_bytes);
  message.set_transient_bytes(stage.transient_bytes);
  message.set_peak_bytes(stage.peak_bytes);
  message.set_capacity_bytes(stage.capacity_bytes);
  message.set_copy_s(stage.copy_s);
  message.set_host_bytes(stage.host_bytes);
  message.set_host_capacity_bytes(stage.host_capacity_bytes);
  for (const StageEvaluation& group : stage.replicas) {
    *message.mutable_replicas()->add_groups() = ToProto(group);
  }
  return message;
}

// Decodes the figures of a stage, or of a group, without those of its groups.
absl::StatusOr<StageEvaluation> DecodeAlone(
    const v1::StageEvaluation& message) {
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckFinite("forward_s", message.forward_s()),
       CheckFinite("backward_s", message.backward_s()),
       CheckFinite("recompute_s", message.recompute_s()),
       CheckFinite("collective_s", message.collective_s()),
       CheckFinite("send_s", message.send_s()),
       CheckFinite("sync_s", message.sync_s()),
       CheckFinite("optimizer_s", message.optimizer_s()),
       CheckFinite("busy_s", message.busy_s()),
       CheckFinite("idle_s", message.idle_s()),
       CheckFinite("static_bytes", message.static_bytes()),
       CheckFinite("weight_bytes", message.weight_bytes()),
       CheckFinite("gradient_bytes", message.gradient_bytes()),
       CheckFinite("optimizer_bytes", message.optimizer_bytes()),
       CheckFinite("activation_bytes", message.activation_bytes()),
       CheckFinite("transient_bytes", message.transient_bytes()),
       CheckFinite("peak_bytes", message.peak_bytes()),
       CheckFinite("capacity_bytes", message.capacity_bytes()),
       CheckFinite("copy_s", message.copy_s()),
       CheckFinite("host_bytes", message.host_bytes()),
       CheckFinite("host_capacity_bytes", message.host_capacity_bytes())}));
  return StageEvaluation{.forward_s = message.forward_s(),
                         .backward_s = message.backward_s(),
                         .recompute_s = message.recompute_s(),
                         .collective_s = message.collective_s(),
                         .copy_s = message.copy_s(),
                         .send_s = message.send_s(),
                         .sync_s = message.sync_s(),
                         .optimizer_s = message.optimizer_s(),
                         .busy_s = message.busy_s(),
                         .idle_s = message.idle_s(),
                         .in_flight = message.in_flight(),
                         .static_bytes = message.static_bytes(),
                         .weight_bytes = message.weight_bytes(),
                         .gradient_bytes = message.gradient_bytes(),
                         .optimizer_bytes = message.optimizer_bytes(),
                         .activation_bytes = message.activation_bytes(),
                         .transient_bytes = message.transient_bytes(),
                         .peak_bytes = message.peak_bytes(),
                         .capacity_bytes = message.capacity_bytes(),
                         .host_bytes = message.host_bytes(),
                         .host_capacity_bytes = message.host_capacity_bytes()};
}

// Groups have no groups; reading ignores any.
absl::StatusOr<StageEvaluation> FromProto(const v1::StageEvaluation& message) {
  TANGRAM_ASSIGN_OR_RETURN(StageEvaluation stage, DecodeAlone(message));
  for (int g = 0; g < message.replicas().groups_size(); ++g) {
    TANGRAM_ASSIGN_OR_RETURN(
        StageEvaluation group,
        InField("replicas.groups", g,
                DecodeAlone(message.replicas().groups(g))));
    stage.replicas.push_back(std::move(group));
  }
  return stage;
}

}  // namespace

v1::Evaluation ToProto(const Evaluation& evaluation) {
  v1::Evaluation message;
  EncodeIteration(evaluation, message);
  message.set_measured_fraction(evaluation.measured_fraction);
  for (const StageEvaluation& stage : evaluation.stages) {
    *message.add_stages() = ToProto(stage);
  }
  for (const Violation& violation : evaluation.violations) {
    v1::Violation& encoded = *message.add_violations();
    encoded.set_stage(violation.stage);
    encoded.set_reason(violation.reason);
    encoded.set_bytes_short(violation.bytes_short);
  }
  return message;
}

v1::PlanningStats ToProto(const PlanningStats& stats) {
  v1::PlanningStats message;
  message.set_pairs(stats.pairs);
  message.set_pruned_redundant(stats.pruned_redundant);
  message.set_pruned_imbalanced(stats.pruned_imbalanced);
  message.set_pruned_incompatible(stats.pruned_incompatible);
  message.set_pruned_infeasible(stats.pruned_infeasible);
  message.set_queries(stats.queries);
  message.set_requeries(stats.requeries);
  message.set_infeasible_answers(stats.infeasible_answers);
  message.set_slice_plans(stats.slice_plans);
  message.set_incompatible_plans(stats.incompatible_plans);
  message.set_search_steps(stats.search_steps);
  message.set_compositions(stats.compositions);
  message.set_finalists(stats.finalists);
  message.set_truncated(stats.truncated);
  return message;
}

absl::StatusOr<Evaluation> FromProto(const v1::Evaluation& message) {
  Evaluation evaluation{.measured_fraction = message.measured_fraction()};
  TANGRAM_RETURN_IF_ERROR(DecodeIteration(message, evaluation));
  TANGRAM_RETURN_IF_ERROR(
      CheckFinite("measured_fraction", evaluation.measured_fraction));
  for (int i = 0; i < message.stages_size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(
        StageEvaluation stage,
        InField("stages", i, FromProto(message.stages(i))));
    evaluation.stages.push_back(std::move(stage));
  }
  for (int i = 0; i < message.violations_size(); ++i) {
    const v1::Violation& violation = message.violations(i);
    TANGRAM_RETURN_IF_ERROR(InField(
        "violations", i, CheckFinite("bytes_short", violation.bytes_short())));
    evaluation.violations.push_back({.stage = violation.stage(),
                                     .reason = violation.reason(),
                                     .bytes_short = violation.bytes_short()});
  }
  return evaluation;
}

PlanningStats FromProto(const v1::PlanningStats& message) {
  return {.pairs = message.pairs(),
          .pruned_redundant = message.pruned_redundant(),
          .pruned_imbalanced = message.pruned_imbalanced(),
          .pruned_incompatible = message.pruned_incompatible(),
          .pruned_infeasible = message.pruned_infeasible(),
          .queries = message.queries(),
          .requeries = message.requeries(),
          .infeasible_answers = message.infeasible_answers(),
          .slice_plans = message.slice_plans(),
          .incompatible_plans = message.incompatible_plans(),
          .search_steps = message.search_steps(),
          .compositions = message.compositions(),
          .finalists = message.finalists(),
          .truncated = message.truncated()};
}

}  // namespace tangram
