#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_WIRING_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_WIRING_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "formats/import_cluster/cluster_draft.h"
#include "formats/import_cluster/gpu_topology.h"
#include "formats/import_cluster/read_sources.h"

namespace tangram {

// How the GPUs of a node are joined.
enum class Wiring {
  kPcie,
  kBridges,  // NVLink in pairs, PCIe between them.
  kNvLink,   // NVLink to several others, or to all through a switch.
};

Wiring WiringOf(const GpuTopology& topology);
Wiring WiringOf(const Link& intra_node);

// Sets the link inside nodes where a matrix of `nvidia-smi topo -m` shows other
// wiring than the catalogue assumes, or the catalogue has none: from the number
// of NVLinks, or the generation and lanes of PCIe. Where both agree, the
// catalogue's measured rates are better than what is worked out here.
absl::Status SetWiring(absl::Span<const ScopedTopology> topologies,
                       ClusterDraft& draft);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_WIRING_H_
