#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_HETAUTO_SEARCH_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_HETAUTO_SEARCH_H_

#include <functional>
#include <vector>

#include "coordinator/planners/rivals/hetauto/hetauto_input.h"
#include "coordinator/planners/rivals/hetauto/uct_search.h"

namespace tangram {

struct RankedHetAutoPlan {
  HetAutoPlan plan;
  double iteration_s = 0;  // CostOf.
};

struct HetAutoPlans {
  // The different plans found that fit by CostOf, best first.
  std::vector<RankedHetAutoPlan> plans;
  // If there are none: the bytes that the closest plan lacks on a GPU. 0: no
  // degrees suit all clusters.
  double bytes_short = 0;
  bool stopped = false;
};

// Principle-guided tree search over the decisions of a plan, in this order:
//  1. the dp degree of all clusters. Guided: the greatest;
//  2. for each place in the pipeline, the cluster, and its tp and cp degrees.
//     The rest of its GPUs are stages. Guided: the cluster of the fastest link
//     to the one before, without context parallelism, and the fewest stages:
//     tensor parallelism stays inside nodes, and pipelines join clusters;
//  3. the samples of a microbatch of a replica. Guided: 1;
//  4. for each place but the last, its layers: in proportion to the throughput
//     of its stages, or up to two more or less. Guided: in proportion.
// A plan that does not fit has no reward. Deterministic.
HetAutoPlans SearchHetAuto(const HetAutoInput& input, const UctOptions& options,
                           const std::function<bool()>& should_stop);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_HETAUTO_SEARCH_H_
