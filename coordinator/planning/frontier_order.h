#ifndef TANGRAM_COORDINATOR_PLANNING_FRONTIER_ORDER_H_
#define TANGRAM_COORDINATOR_PLANNING_FRONTIER_ORDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/digest/sha256.h"
#include "coordinator/planning/plan_request_wire.h"
#include "tangram/v1/planner_service.pb.h"

namespace tangram::v1 {
class FrontierRequest;
}  // namespace tangram::v1

namespace tangram {

// Allocations beyond so many are refused: each takes a hundredth of a second or
// more.
inline constexpr int kMaxAllocations = 100'000;

// A request for many allocations. Its parts are read once for all of them.
struct FrontierOrder {
  PlanOrder whole;          // With the whole cluster.
  v1::PlanRequest request;  // The same, as it came, without its cluster.
  // The name of everything but the allocations.
  Digest name;
  std::vector<std::vector<int>> allocations;  // Nodes by group.

  const Cluster& cluster() const { return whole.request.cluster; }
};

// Checks and converts a request. Returns kInvalidArgument naming the field at
// fault.
absl::StatusOr<FrontierOrder> FromProto(const v1::FrontierRequest& message);

// Returns the memory of an order in bytes, apart from texts for people.
int64_t BytesOf(const FrontierOrder& order);

// The plan request for one allocation: `wire` is what a client would send.
struct AllocationOrder {
  PlanOrder order;
  std::string wire;
};
AllocationOrder OrderFor(const FrontierOrder& order,
                         const std::vector<int>& allocation);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNING_FRONTIER_ORDER_H_
