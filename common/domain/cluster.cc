#include "common/domain/cluster.h"

namespace tangram {

int Cluster::num_gpus() const {
  int total = 0;
  for (const Node& node : nodes) total += node.num_gpus;
  return total;
}

}  // namespace tangram
