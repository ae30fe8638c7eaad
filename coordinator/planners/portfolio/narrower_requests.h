#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_NARROWER_REQUESTS_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_NARROWER_REQUESTS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/island.h"
#include "common/planner/cluster_planner.h"

namespace tangram {

// A request whose plans are also plans for another request.
struct NarrowerRequest {
  PlanRequest request;
  std::string what;  // "without nodes t4-2, t4-3".
};

// Returns narrower requests for which a search may find a faster plan than for
// `request`, whose islands are given: a search uses islands whole, and goes the
// way that its first plans lead.
//
//  - Islands in part. An island of n nodes of g GPUs is awkward if n·g has a
//    prime factor that is neither 2 nor one of the batch. Replicas divide the
//    batch, so the nodes of such an island are used better in other numbers:
//    fewer nodes, the most that are not awkward.
//  - Without the weakest kind of nodes, if there are several kinds.
//
// Constraints of the request stay.
std::vector<NarrowerRequest> NarrowerRequests(const PlanRequest& request,
                                              absl::Span<const Island> islands);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_NARROWER_REQUESTS_H_
