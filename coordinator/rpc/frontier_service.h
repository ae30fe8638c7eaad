#ifndef TANGRAM_COORDINATOR_RPC_FRONTIER_SERVICE_H_
#define TANGRAM_COORDINATOR_RPC_FRONTIER_SERVICE_H_

#include <memory>

#include "coordinator/planning/plan_cache.h"
#include "coordinator/rpc/planner_service.h"

namespace tangram {

struct FrontierServiceParts {
  // Plans of allocations go to its cache, as those of planning calls do.
  PlannerServiceParts planner;
  // Answers: single ones, and those of whole calls.
  PlanCache& answers;
  int most_at_once = 1;  // Allocations of one call that are planned at once.
};

// Creates the service that plans many allocations of a cluster
// (proto/tangram/v1/frontier_service.proto). All parts must outlive it.
std::unique_ptr<grpc::Service> CreateFrontierService(
    const FrontierServiceParts& parts);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_FRONTIER_SERVICE_H_
