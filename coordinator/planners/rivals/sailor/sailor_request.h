#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_SAILOR_REQUEST_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_SAILOR_REQUEST_H_

#include <vector>

#include "common/domain/cluster.h"
#include "coordinator/planners/rivals/profiles/layer_profiles.h"
#include "coordinator/planners/rivals/sailor/sailor_input.h"

namespace tangram::sailor {

// Sets of rules, each with a model of memory.
enum class Mode {
  kCorrected,  // Mended rules; memory of the profiles.
  // The paper's artifact: 24 bytes a parameter, 2 GB reserved, 3 GB with tp.
  kUpstream,
  // The artifact's later form, by which Tangram was compared with Sailor: no
  // test of regions, and 16 bytes a parameter.
  kFork,
};

Rules RulesOf(Mode mode);

// The nodes of each type of an input.
struct TypedNodes {
  std::vector<std::vector<int>> nodes;  // By type, ascending.
};

// Returns the input for a cluster, in one zone: GPU types by name, and between
// two types the slowest link between their nodes. n GPUs of a node that send
// at once have n times the rate of a pair, at most that of the node. A type of
// one node has its links inside the node for itself.
Input InputOf(const Cluster& cluster, const LayerProfiles& profiles,
              int global_batch, Mode mode, TypedNodes& nodes);

}  // namespace tangram::sailor

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_SAILOR_REQUEST_H_
