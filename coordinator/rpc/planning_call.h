#ifndef TANGRAM_COORDINATOR_RPC_PLANNING_CALL_H_
#define TANGRAM_COORDINATOR_RPC_PLANNING_CALL_H_

#include <google/protobuf/descriptor.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/obs/sparse_warning.h"
#include "coordinator/planning/plan_cache.h"
#include "coordinator/planning/recorded_plan.h"
#include "coordinator/rpc/memory_budget.h"
#include "coordinator/rpc/planner_service.h"

// Calls that plan have these in common. Thread-safe, as their parts are.
namespace tangram {

// Returns the scope of answers that the caller may see. An error for a caller
// who is not known.
absl::StatusOr<PlanScope> ScopeOf(const PlannerServiceParts& parts,
                                  const grpc::CallbackServerContext& context);

// A caller whose call plans.
struct PlanningCaller {
  // Fails if the caller is not known, or has too many calls; the tenant is then
  // set all the same. Leaves scope.adapters to the call.
  absl::Status Admit(const PlannerServiceParts& parts,
                     const grpc::CallbackServerContext& context);

  std::string name;  // For the log.
  std::string tenant;
  PlanScope scope;              // Scope of the answers in the caches.
  std::shared_ptr<void> place;  // Place in the quota of the tenant's calls.
};

// Takes the memory that the request and its message of this type need.
absl::StatusOr<MemoryBudget::Share> TakeMemory(
    const PlannerServiceParts& parts, const grpc::ByteBuffer& request,
    const google::protobuf::Descriptor& type, const std::string& tenant);

// Counts and logs a call that is refused. `call`: "plan"; `reason`: for the
// metric.
void NoteRefusal(const PlannerServiceParts& parts, SparseKinds& refusals,
                 const std::string& tenant, const char* call,
                 const absl::Status& status, const char* reason);

PlanningParts PlanningPartsOf(const PlannerServiceParts& parts);

// Returns why a call ends early. `late`: what it did not do before the
// deadline.
absl::Status WhyEnded(bool is_cancelled,
                      const grpc::CallbackServerContext& context,
                      const char* late);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_PLANNING_CALL_H_
