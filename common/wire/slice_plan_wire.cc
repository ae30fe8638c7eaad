#include "common/wire/slice_plan_wire.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/field_checks.h"
#include "tangram/v1/plan.pb.h"

namespace tangram {
namespace {

constexpr int kMaxOpsPerLayer = 32;  // Bits of an OpMask.
constexpr int kMaxZeroStage = 3;     // ZeRO (1910.02054) has three stages.

v1::OperatorCut ToProto(OperatorCut cut) {
  v1::OperatorCut message;
  message.set_layer(cut.layer);
  message.set_op(cut.op);
  return message;
}

absl::StatusOr<OperatorCut> FromProto(const v1::OperatorCut& message) {
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckNotNegative("layer", message.layer(), kMaxLayers),
                  CheckNotNegative("op", message.op(), kMaxOpsPerLayer)}));
  return OperatorCut{.layer = message.layer(), .op = message.op()};
}

v1::HostOffload ToProto(const HostOffload& offload) {
  v1::HostOffload message;
  message.set_weights(offload.weights);
  message.set_gradients(offload.gradients);
  message.set_optimizer(offload.optimizer);
  message.set_activations(offload.activations);
  return message;
}

absl::StatusOr<HostOffload> FromProto(const v1::HostOffload& message) {
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckFraction("weights", message.weights()),
                  CheckFraction("gradients", message.gradients()),
                  CheckFraction("optimizer", message.optimizer()),
                  CheckFraction("activations", message.activations())}));
  return HostOffload{.weights = message.weights(),
                     .gradients = message.gradients(),
                     .optimizer = message.optimizer(),
                     .activations = message.activations()};
}

v1::SliceStage ToProto(const SliceStage& stage) {
  v1::SliceStage message;
  *message.mutable_plan() = tangram::ToProto(stage.plan);
  message.set_time_s(stage.time_s);
  message.set_backward_s(stage.backward_s);
  message.set_sync_s(stage.sync_s);
  return message;
}

absl::StatusOr<SliceStage> FromProto(const v1::SliceStage& message) {
  SliceStage stage{.time_s = message.time_s(),
                   .backward_s = message.backward_s(),
                   .sync_s = message.sync_s()};
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckPositive("time_s", stage.time_s),
                  CheckNotNegative("backward_s", stage.backward_s),
                  CheckNotNegative("sync_s", stage.sync_s)}));
  TANGRAM_ASSIGN_OR_RETURN(stage.plan,
                           InField("plan", tangram::FromProto(message.plan())));
  return stage;
}

absl::StatusOr<SlicePlan> FromProto(const v1::SlicePlan& message) {
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckPositive("stages", message.stages_size(), kMaxLayers),
       CheckNotNegative("max_trailing_stages", message.max_trailing_stages(),
                        kUnlimitedTrailingStages),
       CheckName("made_by", message.made_by())}));
  SlicePlan plan{.max_trailing_stages = message.max_trailing_stages(),
                 .made_by = message.made_by()};
  for (int i = 0; i < message.stages_size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(
        SliceStage stage, InField("stages", i, FromProto(message.stages(i))));
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

}  // namespace

v1::StageParallelism ToProto(const StageParallelism& parallelism) {
  v1::StageParallelism message;
  message.set_tp_degree(parallelism.tp_degree);
  message.set_cp_degree(parallelism.cp_degree);
  message.set_dp_degree(parallelism.dp_degree);
  message.set_ep_degree(parallelism.ep_degree);
  message.set_fsep(parallelism.fsep);
  message.set_zero_stage(parallelism.zero_stage);
  message.set_sequence_parallel(parallelism.sequence_parallel);
  if (parallelism.tp_y_degree > 1) {
    message.set_tp_y_degree(parallelism.tp_y_degree);
  }
  if (parallelism.zero_degree > 0) {
    message.set_zero_degree(parallelism.zero_degree);
  }
  return message;
}

absl::StatusOr<StageParallelism> FromProto(
    const v1::StageParallelism& message) {
  const int tp_y_degree = message.has_tp_y_degree() ? message.tp_y_degree() : 1;
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckPositive("tp_degree", message.tp_degree(), kMaxGpus),
       CheckPositive("cp_degree", message.cp_degree(), kMaxGpus),
       CheckPositive("dp_degree", message.dp_degree(), kMaxGpus),
       CheckPositive("ep_degree", message.ep_degree(), kMaxGpus),
       CheckPositive("tp_y_degree", tp_y_degree, kMaxGpus),
       CheckNotNegative("zero_stage", message.zero_stage(), kMaxZeroStage),
       CheckPositive("zero_degree",
                     message.has_zero_degree() ? message.zero_degree() : 1,
                     kMaxGpus)}));
  // In two steps, so that the product does not overflow before it is checked.
  const int64_t tp_cp = int64_t{message.tp_degree()} * message.cp_degree();
  TANGRAM_RETURN_IF_ERROR(
      CheckPositive("tp_degree * cp_degree", tp_cp, kMaxGpus));
  TANGRAM_RETURN_IF_ERROR(CheckPositive("tp_degree * cp_degree * dp_degree",
                                        tp_cp * message.dp_degree(), kMaxGpus));
  return StageParallelism{.tp_degree = message.tp_degree(),
                          .cp_degree = message.cp_degree(),
                          .dp_degree = message.dp_degree(),
                          .ep_degree = message.ep_degree(),
                          .fsep = message.fsep(),
                          .zero_stage = message.zero_stage(),
                          .zero_degree = message.zero_degree(),
                          .sequence_parallel = message.sequence_parallel(),
                          .tp_y_degree = tp_y_degree};
}

v1::StagePlan ToProto(const StagePlan& stage) {
  v1::StagePlan message;
  *message.mutable_begin() = ToProto(stage.begin);
  *message.mutable_end() = ToProto(stage.end);
  *message.mutable_parallelism() = ToProto(stage.parallelism);
  for (const RecomputeRun& run : stage.recompute) {
    v1::RecomputeRun& encoded = *message.add_recompute();
    encoded.set_num_layers(run.num_layers);
    encoded.set_mask(run.mask);
  }
  if (!stage.offload.none()) {
    *message.mutable_offload() = ToProto(stage.offload);
  }
  return message;
}

v1::Infeasible ToProto(const Infeasible& infeasible) {
  v1::Infeasible message;
  message.set_reason(infeasible.reason);
  message.set_bytes_short(infeasible.bytes_short);
  return message;
}

v1::SlicePlanSet ToProto(const SlicePlanSet& set) {
  v1::SlicePlanSet message;
  for (const SlicePlan& plan : set.plans) {
    v1::SlicePlan& encoded = *message.add_plans();
    encoded.set_max_trailing_stages(plan.max_trailing_stages);
    encoded.set_made_by(plan.made_by);
    for (const SliceStage& stage : plan.stages) {
      *encoded.add_stages() = ToProto(stage);
    }
  }
  if (set.infeasible.has_value()) {
    *message.mutable_infeasible() = ToProto(*set.infeasible);
  }
  message.set_covers_trailing_stages(set.covers_trailing_stages);
  message.set_search_steps(set.search_steps);
  message.set_truncated(set.truncated);
  return message;
}

absl::StatusOr<StagePlan> FromProto(const v1::StagePlan& message) {
  StagePlan stage;
  TANGRAM_ASSIGN_OR_RETURN(stage.begin,
                           InField("begin", FromProto(message.begin())));
  TANGRAM_ASSIGN_OR_RETURN(stage.end, InField("end", FromProto(message.end())));
  TANGRAM_ASSIGN_OR_RETURN(
      stage.parallelism,
      InField("parallelism", FromProto(message.parallelism())));
  TANGRAM_RETURN_IF_ERROR(
      CheckCount("recompute", message.recompute_size(), kMaxLayers));
  for (int i = 0; i < message.recompute_size(); ++i) {
    const v1::RecomputeRun& run = message.recompute(i);
    TANGRAM_RETURN_IF_ERROR(
        InField("recompute", i,
                CheckPositive("num_layers", run.num_layers(), kMaxLayers)));
    stage.recompute.push_back(
        {.num_layers = run.num_layers(), .mask = run.mask()});
  }
  TANGRAM_ASSIGN_OR_RETURN(stage.offload,
                           InField("offload", FromProto(message.offload())));
  return stage;
}

absl::StatusOr<Infeasible> FromProto(const v1::Infeasible& message) {
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckNotEmpty("reason", message.reason()),
                  CheckNotNegative("bytes_short", message.bytes_short())}));
  return Infeasible{.reason = message.reason(),
                    .bytes_short = message.bytes_short()};
}

absl::StatusOr<SlicePlanSet> FromProto(const v1::SlicePlanSet& message) {
  TANGRAM_RETURN_IF_ERROR(CheckNotNegative("covers_trailing_stages",
                                           message.covers_trailing_stages(),
                                           kUnlimitedTrailingStages));
  SlicePlanSet set{.covers_trailing_stages = message.covers_trailing_stages(),
                   .search_steps = message.search_steps(),
                   .truncated = message.truncated()};
  for (int i = 0; i < message.plans_size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(SlicePlan plan,
                             InField("plans", i, FromProto(message.plans(i))));
    set.plans.push_back(std::move(plan));
  }
  if (message.has_infeasible()) {
    TANGRAM_ASSIGN_OR_RETURN(
        set.infeasible, InField("infeasible", FromProto(message.infeasible())));
  }
  return set;
}

}  // namespace tangram
