#ifndef TANGRAM_COMMON_PLANNER_KEEP_CONSTRAINTS_H_
#define TANGRAM_COMMON_PLANNER_KEEP_CONSTRAINTS_H_

#include "common/domain/cluster.h"
#include "common/planner/plan_constraints.h"

namespace tangram {

// Returns the constraints of a request for `kept`, which has some of the nodes
// of `whole` (KeepNodes): those on nodes, groups and types of GPU that `whole`
// has and `kept` lacks are met without a word, and dropped. Pins stay: layers
// cannot run on GPUs that are not there. Thread-safe.
PlanConstraints KeepConstraints(const Cluster& whole, const Cluster& kept,
                                PlanConstraints constraints);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PLANNER_KEEP_CONSTRAINTS_H_
