#include "coordinator/rpc/planning_call.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/obs/log.h"
#include "coordinator/auth/call_gate.h"
#include "coordinator/rpc/received_message.h"

namespace tangram {

absl::StatusOr<PlanScope> ScopeOf(const PlannerServiceParts& parts,
                                  const grpc::CallbackServerContext& context) {
  PlanScope scope{.adapters = parts.pool.OfferedAdapters()};
  if (parts.share_answers) return scope;
  TANGRAM_ASSIGN_OR_RETURN(Caller caller,
                           CallerOf(parts.authenticator, context));
  scope.tenant = std::move(caller.tenant);
  return scope;
}

absl::Status PlanningCaller::Admit(const PlannerServiceParts& parts,
                                   const grpc::CallbackServerContext& context) {
  TANGRAM_ASSIGN_OR_RETURN(const Caller caller,
                           CallerOf(parts.authenticator, context));
  if (!caller.name.empty()) name = absl::StrCat(caller.name, " at ");
  absl::StrAppend(&name, PeerOf(context));
  tenant = caller.tenant;
  if (!parts.share_answers) scope.tenant = tenant;
  scope.owner = tenant;
  TANGRAM_ASSIGN_OR_RETURN(place, parts.quota.BeginCall(tenant));
  return absl::OkStatus();
}

absl::StatusOr<MemoryBudget::Share> TakeMemory(
    const PlannerServiceParts& parts, const grpc::ByteBuffer& request,
    const google::protobuf::Descriptor& type, const std::string& tenant) {
  TANGRAM_ASSIGN_OR_RETURN(
      const int64_t unfolded,
      MeasureMessage(request, type, parts.budget.max_bytes()));
  return parts.budget.Take(static_cast<int64_t>(request.Length()) + unfolded,
                           tenant);
}

void NoteRefusal(const PlannerServiceParts& parts, SparseKinds& refusals,
                 const std::string& tenant, const char* call,
                 const absl::Status& status, const char* reason) {
  parts.metrics.OnRefusal(tenant, reason);
  const auto times = refusals.Note(absl::StatusCodeToString(status.code()));
  if (!times.has_value()) return;
  Log(LogLevel::kInfo, absl::StrCat(call, " refused"),
      {{"reason", status.ToString()}, {"times", *times}});
}

PlanningParts PlanningPartsOf(const PlannerServiceParts& parts) {
  return {.pool = parts.pool,
          .metrics = parts.metrics,
          .turns = parts.turns,
          .now_s = parts.now_s,
          .cost_limits = parts.cost_limits,
          .limits = parts.limits};
}

absl::Status WhyEnded(bool is_cancelled,
                      const grpc::CallbackServerContext& context,
                      const char* late) {
  if (!is_cancelled) {
    return absl::UnavailableError("the coordinator is shutting down");
  }
  return std::chrono::system_clock::now() >= context.deadline()
             ? absl::DeadlineExceededError(late)
             : absl::CancelledError("cancelled");
}

}  // namespace tangram
