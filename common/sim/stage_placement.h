#ifndef TANGRAM_COMMON_SIM_STAGE_PLACEMENT_H_
#define TANGRAM_COMMON_SIM_STAGE_PLACEMENT_H_

#include <vector>

#include "absl/types/span.h"
#include "common/cost/collectives.h"
#include "common/cost/operator_cost.h"
#include "common/domain/cluster.h"
#include "common/domain/device.h"

namespace tangram {

// Device and links of a stage, derived from its GPUs in the cluster and not
// from islands. So plans of any source are evaluated alike. `gpus` is in rank
// order, not empty, and all are in the cluster.

// Returns a device that stands for all GPUs. Each field is the weakest GPU's,
// because collectives make every GPU wait for the slowest.
DeviceSpec WeakestDevice(const Cluster& cluster, absl::Span<const GpuId> gpus);

// Returns the slowest links inside and between the nodes of the stage. If ranks
// are spread unevenly over nodes, or a node's ranks are not adjacent, a node
// counts as several nodes that share its network bandwidth. Each holds one
// aligned block of adjacent ranks, so tp groups within a block stay inside a
// node.
StageWiring WiringOfGpus(const Cluster& cluster, absl::Span<const GpuId> gpus);

// The device and wiring for the cost model of a stage.
struct PlacedGpus {
  DeviceSpec device;
  StageWiring wiring;  // Without the device's measured collectives.

  // The result refers to `training` and to this object.
  StageEnvironment Environment(const TrainingOptions& training,
                               int pipeline_microbatch_size) const;
};
PlacedGpus PlacedGpusOf(const Cluster& cluster, absl::Span<const GpuId> gpus);

// Returns the environment of a stage on `device` with `wiring`. The result
// refers to `device` and `training`.
StageEnvironment EnvironmentOn(const DeviceSpec& device,
                               const StageWiring& wiring,
                               const TrainingOptions& training,
                               int pipeline_microbatch_size);

// The GPUs at one end of a path, as far as the path depends on them. For many
// paths between the same sets of GPUs, make one for each set: each path then
// takes time in proportion to the groups of nodes, not to the GPUs.
struct PathEnd {
  int num_gpus = 0;
  int num_nodes = 0;
  int first_node = 0;  // The smallest index.
  // Groups of the nodes, ascending, with how many nodes each has and the first.
  struct GroupNodes {
    int group = 0;
    int num_nodes = 0;
    int first_node = 0;
  };
  std::vector<GroupNodes> groups;
};
PathEnd PathEndOf(const Cluster& cluster, absl::Span<const GpuId> gpus);

// Returns the path from one stage to another over the slowest link between
// them.
TransferPath PathBetween(const Cluster& cluster, const PathEnd& from,
                         const PathEnd& to);
TransferPath PathBetween(const Cluster& cluster, absl::Span<const GpuId> from,
                         absl::Span<const GpuId> to);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_STAGE_PLACEMENT_H_
