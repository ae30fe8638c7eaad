#ifndef TANGRAM_COMMON_SIM_STAGE_PLACEMENT_H_
#define TANGRAM_COMMON_SIM_STAGE_PLACEMENT_H_

#include "absl/types/span.h"
#include "common/cost/collectives.h"
#include "common/cost/operator_cost.h"
#include "common/domain/cluster.h"
#include "common/domain/device.h"

namespace tangram {

// What the GPUs of a stage amount to, read off the cluster itself and not off
// islands, so that plans from anywhere are judged alike. `gpus` in rank order,
// at least one, all known to the cluster.

// The device that all GPUs can be taken for: each field is the weakest one's,
// since collectives make every GPU wait for the slowest.
DeviceSpec WeakestDevice(const Cluster& cluster, absl::Span<const GpuId> gpus);

// The slowest links inside and between the nodes of the stage. Where ranks are
// spread unevenly over nodes, or a node's ranks are not adjacent, a node is
// taken for several that split its network bandwidth: tp groups of the even
// part stay inside a node.
StageWiring WiringOfGpus(const Cluster& cluster, absl::Span<const GpuId> gpus);

// The device and wiring with which the GPUs of a stage are costed.
struct PlacedGpus {
  DeviceSpec device;
  StageWiring wiring;  // Without the device's measured collectives.

  // Refers to `training` and to this.
  StageEnvironment Environment(const TrainingOptions& training,
                               int pipeline_microbatch_size) const;
};
PlacedGpus PlacedGpusOf(const Cluster& cluster, absl::Span<const GpuId> gpus);

// The path from one stage to another, over the slowest link between them.
TransferPath PathBetween(const Cluster& cluster, absl::Span<const GpuId> from,
                         absl::Span<const GpuId> to);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_STAGE_PLACEMENT_H_
