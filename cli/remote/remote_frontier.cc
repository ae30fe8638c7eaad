#include "cli/remote/remote_frontier.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/remote/coordinator_channel.h"
#include "cli/remote/remote_planning.h"
#include "cli/remote/stream_call.h"
#include "common/base/status_macros.h"
#include "tangram/v1/frontier_service.grpc.pb.h"
#include "tangram/v1/planner_service.grpc.pb.h"

namespace tangram {

absl::Status AskFrontier(
    const PlanRequest& whole, absl::Span<const std::vector<int>> allocations,
    const PlanningSetup& setup, const StopCondition& stop,
    const std::function<void(int64_t index, AllocationAnswer answer)>&
        on_answer) {
  TANGRAM_ASSIGN_OR_RETURN(const auto channel,
                           ConnectToCoordinator(setup.coordinator, stop));
  const auto stub = v1::Frontiers::NewStub(channel);
  v1::FrontierRequest message;
  *message.mutable_plan() = PlanRequestToProto(whole, setup);
  for (const std::vector<int>& nodes : allocations) {
    v1::Allocation& allocation = *message.add_allocations();
    allocation.mutable_nodes()->Add(nodes.begin(), nodes.end());
  }
  StreamCall<v1::FrontierUpdate> call(stop, [&](auto* context, auto* queue) {
    return stub->AsyncFrontier(context, message, queue, /*tag=*/nullptr);
  });
  absl::Status wrong;
  while (std::optional<v1::FrontierUpdate> update = call.Next()) {
    for (const v1::AllocationAnswer& answer : update->answers()) {
      absl::StatusOr<AllocationAnswer> read =
          FromProto(answer, whole.cluster->groups.size());
      const int64_t index = answer.index();
      if (!read.ok() || index < 0 ||
          index >= static_cast<int64_t>(allocations.size())) {
        wrong.Update(absl::InternalError(
            absl::StrCat("the coordinator's answer ", index, ": ",
                         read.ok() ? "there is no such allocation"
                                   : std::string(read.status().message()))));
        continue;
      }
      on_answer(index, *std::move(read));
    }
  }
  TANGRAM_RETURN_IF_ERROR(call.Finish());
  return wrong;
}

absl::StatusOr<PlanFile> GetKeptPlan(const std::string& plan_id,
                                     const PlanningSetup& setup,
                                     const StopCondition& stop) {
  TANGRAM_ASSIGN_OR_RETURN(const auto channel,
                           ConnectToCoordinator(setup.coordinator, stop));
  const auto stub = v1::Planner::NewStub(channel);
  v1::PlanRequest message;
  message.set_plan_id(plan_id);
  StreamCall<v1::PlanUpdate> call(stop, [&](auto* context, auto* queue) {
    return stub->AsyncPlan(context, message, queue, /*tag=*/nullptr);
  });
  std::optional<v1::PlanFile> result;
  while (std::optional<v1::PlanUpdate> update = call.Next()) {
    if (update->has_result()) result = std::move(*update->mutable_result());
  }
  TANGRAM_RETURN_IF_ERROR(call.Finish());
  if (!result.has_value()) {
    return absl::InternalError("the coordinator ended without a result");
  }
  TANGRAM_ASSIGN_OR_RETURN(PlanFile file, FromProto(*result));
  file.provenance.coordinator = setup.coordinator.address;
  return file;
}

}  // namespace tangram
