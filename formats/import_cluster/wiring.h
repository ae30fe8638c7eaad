#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_WIRING_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_WIRING_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "formats/import_cluster/cluster_draft.h"
#include "formats/import_cluster/gpu_topology.h"
#include "formats/import_cluster/read_sources.h"

namespace tangram {

// How the GPUs of a node are connected.
enum class Wiring {
  kPcie,     // PCIe only.
  kBridges,  // NVLink within pairs, PCIe between them.
  kNvLink,   // NVLink to several others, or to all through a switch.
};

// Classifies a measured matrix, or a link by its bandwidths.
Wiring WiringOf(const GpuTopology& topology);
Wiring WiringOf(const Link& intra_node);

// Sets the link inside nodes if a matrix of `nvidia-smi topo -m` shows other
// wiring than the catalogue assumes, or the GPU is not in the catalogue. The
// rates follow from the number of NVLinks, or the generation and lanes of PCIe.
// If matrix and catalogue agree, the catalogue's measured rates are better.
absl::Status SetWiring(absl::Span<const ScopedTopology> topologies,
                       ClusterDraft& draft);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_WIRING_H_
