#include "coordinator/planning/plan_request_wire.h"

#include <limits>

#include "common/base/status_macros.h"
#include "common/wire/cluster_wire.h"
#include "common/wire/constraints_wire.h"
#include "common/wire/field_checks.h"
#include "common/wire/model_wire.h"
#include "common/wire/training_wire.h"
#include "coordinator/planners/builtin/builtin_planners.h"
#include "coordinator/planners/tangram/estimate_cost.h"
#include "tangram/v1/planner_service.pb.h"

namespace tangram {
namespace {

absl::StatusOr<TangramOptions> FromProto(const v1::PlannerOptions& message) {
  TangramOptions options;
  const auto take = [](bool is_set, auto value, auto& field) {
    if (is_set) field = value;
  };
  take(message.has_max_search_steps(), message.max_search_steps(),
       options.max_search_steps);
  take(message.has_finalist_slack(), message.finalist_slack(),
       options.finalist_slack);
  take(message.has_min_island_gain(), message.min_island_gain(),
       options.min_island_gain);
  take(message.has_compute_tolerance(), message.compute_tolerance(),
       options.tolerances.compute);
  take(message.has_memory_tolerance(), message.memory_tolerance(),
       options.tolerances.memory);
  take(message.has_intra_node_tolerance(), message.intra_node_tolerance(),
       options.tolerances.intra_node);
  take(message.has_inter_node_tolerance(), message.inter_node_tolerance(),
       options.tolerances.inter_node);
  take(message.has_prune_redundant(), message.prune_redundant(),
       options.pruning.redundancy);
  take(message.has_prune_imbalanced(), message.prune_imbalanced(),
       options.pruning.imbalance);
  take(message.has_prune_infeasible(), message.prune_infeasible(),
       options.pruning.infeasibility);
  take(message.has_prune_incompatible(), message.prune_incompatible(),
       options.pruning.incompatibility);
  take(message.has_early_stop(), message.early_stop(),
       options.pruning.early_stop);
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckPositive("max_search_steps", options.max_search_steps,
                     std::numeric_limits<int64_t>::max()),
       CheckFraction("finalist_slack", options.finalist_slack),
       CheckNotNegative("min_island_gain", options.min_island_gain),
       CheckNotNegative("compute_tolerance", options.tolerances.compute),
       CheckNotNegative("memory_tolerance", options.tolerances.memory),
       CheckNotNegative("intra_node_tolerance", options.tolerances.intra_node),
       CheckNotNegative("inter_node_tolerance",
                        options.tolerances.inter_node)}));
  return options;
}

}  // namespace

int64_t BytesOf(const PlanOrder& order) {
  return BytesOfRequest(order.request);
}

// An answer that is kept is returned before its request is read.
absl::Status RefuseName(const v1::PlanRequest& message) {
  if (message.plan_id().empty()) return absl::OkStatus();
  v1::PlanRequest rest = message;
  rest.clear_plan_id();
  if (rest.ByteSizeLong() > 0) {
    return absl::InvalidArgumentError(
        "plan_id: beside other fields; expected it alone");
  }
  return absl::NotFoundError(
      "plan_id: not kept, or not any more; plan the request again");
}

absl::StatusOr<PlanOrder> FromProto(const v1::PlanRequest& message) {
  TANGRAM_RETURN_IF_ERROR(RefuseName(message));
  const int microbatch = message.options().pipeline_microbatch_size();
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckName("parallelizer", message.parallelizer()),
                  CheckNotNegative("options.pipeline_microbatch_size",
                                   microbatch, kMaxBatch)}));
  PlanOrder order{.request = {.pipeline_microbatch_size = microbatch},
                  .parallelizer = message.parallelizer(),
                  .skip_cache = message.skip_cache()};
  TANGRAM_ASSIGN_OR_RETURN(
      order.request.cluster,
      InField("cluster", tangram::FromProto(message.cluster())));
  TANGRAM_ASSIGN_OR_RETURN(
      order.request.model,
      InField("model", tangram::FromProto(message.model())));
  TANGRAM_ASSIGN_OR_RETURN(
      order.request.training,
      InField("training", tangram::FromProto(message.training())));
  TANGRAM_ASSIGN_OR_RETURN(
      order.request.constraints,
      InField("constraints", tangram::FromProto(message.constraints())));
  if (message.preferred_precision() !=
      v1::TrainingOptions::PRECISION_UNSPECIFIED) {
    TANGRAM_ASSIGN_OR_RETURN(
        order.request.preferred_precision,
        InField("preferred_precision",
                PrecisionFromWire(message.preferred_precision())));
  }
  // A plan of any kind is asked for by no runtime, too.
  std::string& runtime = order.request.constraints.runtime;
  if (runtime == kAnyRuntime) runtime.clear();
  TANGRAM_ASSIGN_OR_RETURN(const TangramOptions search,
                           InField("options", FromProto(message.options())));
  order.planner_options = {message.planner_options().begin(),
                           message.planner_options().end()};
  TANGRAM_ASSIGN_OR_RETURN(
      order.planner, BuiltinPlanners().Choose(message.planner(),
                                              order.planner_options, search));
  return order;
}

}  // namespace tangram
