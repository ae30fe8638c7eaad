#include "cli/remote/remote_planning.h"

#include <grpcpp/channel.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/remote/coordinator_channel.h"
#include "cli/remote/job_calls.h"
#include "cli/remote/progress_follower.h"
#include "cli/remote/stream_call.h"
#include "common/base/status_macros.h"
#include "common/obs/build_info.h"
#include "common/wire/cluster_wire.h"
#include "common/wire/constraints_wire.h"
#include "common/wire/json_text.h"
#include "common/wire/message_json.h"
#include "common/wire/model_wire.h"
#include "common/wire/training_wire.h"
#include "tangram/v1/job_service.pb.h"
#include "tangram/v1/planner_service.grpc.pb.h"

namespace tangram {

v1::PlanRequest PlanRequestToProto(const PlanRequest& request,
                                   const PlanningSetup& setup) {
  v1::PlanRequest message;
  *message.mutable_cluster() = tangram::ToProto(request.cluster);
  *message.mutable_model() = tangram::ToProto(request.model);
  *message.mutable_training() = tangram::ToProto(request.training);
  if (!request.constraints.none()) {
    *message.mutable_constraints() = tangram::ToProto(request.constraints);
  }
  if (request.preferred_precision.has_value()) {
    message.set_preferred_precision(static_cast<v1::TrainingOptions::Precision>(
        PrecisionToWire(*request.preferred_precision)));
  }
  message.set_parallelizer(setup.parallelizer);
  message.set_planner(setup.planner);
  message.set_skip_cache(setup.skip_cache);
  message.mutable_planner_options()->insert(setup.planner_options.begin(),
                                            setup.planner_options.end());
  v1::PlannerOptions& options = *message.mutable_options();
  options.set_pipeline_microbatch_size(request.pipeline_microbatch_size);
  const TangramOptions& search = setup.search;
  options.set_max_search_steps(search.max_search_steps);
  options.set_finalist_slack(search.finalist_slack);
  options.set_min_island_gain(search.min_island_gain);
  options.set_compute_tolerance(search.tolerances.compute);
  options.set_memory_tolerance(search.tolerances.memory);
  options.set_intra_node_tolerance(search.tolerances.intra_node);
  options.set_inter_node_tolerance(search.tolerances.inter_node);
  options.set_prune_redundant(search.pruning.redundancy);
  options.set_prune_imbalanced(search.pruning.imbalance);
  options.set_prune_infeasible(search.pruning.infeasibility);
  options.set_prune_incompatible(search.pruning.incompatibility);
  options.set_early_stop(search.pruning.early_stop);
  return message;
}

namespace {

absl::StatusOr<PlanFile> PlanInOneCall(const PlanRequest& request,
                                       const PlanningSetup& setup,
                                       const StopCondition& stop,
                                       ProgressLine& line) {
  TANGRAM_ASSIGN_OR_RETURN(const auto channel,
                           ConnectToCoordinator(setup.coordinator, stop));
  const auto stub = v1::Planner::NewStub(channel);
  const v1::PlanRequest message = PlanRequestToProto(request, setup);
  StreamCall<v1::PlanUpdate> call(stop, [&](auto* context, auto* queue) {
    return stub->AsyncPlan(context, message, queue, /*tag=*/nullptr);
  });
  ProgressFollower follower(line);
  std::optional<v1::PlanFile> result;
  while (std::optional<v1::PlanUpdate> update = call.Next()) {
    if (update->has_progress()) follower.Show(update->progress());
    if (update->has_result()) result = std::move(*update->mutable_result());
  }
  line.Clear();
  TANGRAM_RETURN_IF_ERROR(call.Finish());
  if (!result) {
    return absl::InternalError("the coordinator ended without a result");
  }
  return FromProto(*result);
}

absl::StatusOr<PlanFile> PlanAsJob(const PlanRequest& request,
                                   const PlanningSetup& setup,
                                   const StopCondition& stop,
                                   ProgressLine& line) {
  TANGRAM_RETURN_IF_ERROR(SubmitPlanJob(request, setup, stop).status());
  TANGRAM_ASSIGN_OR_RETURN(
      const v1::Job job, AwaitJob(setup.coordinator, setup.job_id, stop, line));
  return ResultOf(job);
}

// A coordinator ignores fields that its version does not know.
absl::Status CheckAnswers(const PlanRequest& request, const PlanFile& file) {
  if (file.constraints == request.constraints &&
      file.model.layers == request.model.layers) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the coordinator, tangram ", file.provenance.tool_version,
      ", planned another ",
      file.constraints == request.constraints ? "model" : "set of constraints",
      "; expected one that knows all fields of the request, such as ",
      Version()));
}

}  // namespace

absl::StatusOr<std::string> PlanRequestToJson(const PlanRequest& request,
                                              const PlanningSetup& setup) {
  TANGRAM_ASSIGN_OR_RETURN(const std::string compact,
                           MessageToJson(PlanRequestToProto(request, setup),
                                         DefaultValues::kLeaveOut));
  return LayOutJson(compact);
}

absl::StatusOr<v1::Job> SubmitPlanJob(const PlanRequest& request,
                                      const PlanningSetup& setup,
                                      const StopCondition& stop) {
  v1::SubmitJobRequest message;
  message.set_job_id(setup.job_id);
  message.set_priority(setup.priority);
  message.set_timeout_s(setup.job.deadline_s);
  message.set_keep_s(setup.job.keep_days * kDayOfJobsS);
  message.set_webhook(setup.job.webhook);
  TANGRAM_RETURN_IF_ERROR(
      SetLabels(setup.job.labels, *message.mutable_labels()));
  *message.mutable_request() = PlanRequestToProto(request, setup);
  return SubmitJob(setup.coordinator, message, stop);
}

absl::StatusOr<PlanFile> PlanRemotely(const PlanRequest& request,
                                      const PlanningSetup& setup,
                                      const StopCondition& stop,
                                      ProgressLine& line) {
  absl::StatusOr<PlanFile> file =
      setup.job_id.empty() ? PlanInOneCall(request, setup, stop, line)
                           : PlanAsJob(request, setup, stop, line);
  if (file.ok()) {
    TANGRAM_RETURN_IF_ERROR(CheckAnswers(request, *file));
    file->provenance.coordinator = setup.coordinator.address;
  }
  return file;
}

}  // namespace tangram
