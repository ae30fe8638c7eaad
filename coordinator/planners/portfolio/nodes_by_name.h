#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_NODES_BY_NAME_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_NODES_BY_NAME_H_

#include <vector>

#include "common/domain/cluster.h"
#include "common/domain/island.h"
#include "common/domain/pipeline_plan.h"

namespace tangram {

// Renumbers the nodes of a cluster by name. A search that draws from numbered
// nodes then finds the same plan however the cluster lists them.
class NodesByName {
 public:
  explicit NodesByName(const Cluster& cluster);

  // From the numbers of the cluster to those by name.
  void Sort(Cluster& cluster) const;
  void Sort(std::vector<Island>& islands) const;
  void Sort(PipelinePlan& plan) const { Renumber(by_name_, plan); }
  // From the numbers by name to those of the cluster.
  void Restore(PipelinePlan& plan) const { Renumber(original_, plan); }

 private:
  static void Renumber(const std::vector<int>& numbers, PipelinePlan& plan);

  std::vector<int> original_;  // The node in the cluster, for each by name.
  std::vector<int> by_name_;   // The inverse.
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_NODES_BY_NAME_H_
