#ifndef TANGRAM_COORDINATOR_PLANNING_PLAN_REQUEST_WIRE_H_
#define TANGRAM_COORDINATOR_PLANNING_PLAN_REQUEST_WIRE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/registry/planner_registry.h"

namespace tangram::v1 {
class PlanRequest;
}  // namespace tangram::v1

namespace tangram {

// A planning request with its options.
struct PlanOrder {
  PlanRequest request;
  PlannerChoice planner;
  PlannerOptionText planner_options;  // As given in the request.
  std::string parallelizer;
  bool skip_cache = false;  // Its plan is not kept for equal requests.
};

// Returns the memory of an order in bytes, apart from texts for people.
int64_t BytesOf(const PlanOrder& order);

// Checks and converts a request. Returns kInvalidArgument naming the field at
// fault.
absl::StatusOr<PlanOrder> FromProto(const v1::PlanRequest& message);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNING_PLAN_REQUEST_WIRE_H_
