#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_MEASURED_LINKS_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_MEASURED_LINKS_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "formats/import_cluster/cluster_draft.h"
#include "formats/import_cluster/read_sources.h"

namespace tangram {

// Sets the links that nccl-tests measured. A run in one node measures the link
// inside it, a run over nodes of one group the link between them, and a run
// over two groups the link that joins those. Two GPUs, or one in each node,
// give the bandwidth of a pair. If several runs measured a link, the one over
// most GPUs counts. The catalogue supplies values that a run does not measure.
absl::Status SetMeasuredLinks(absl::Span<const ScopedRun> runs,
                              ClusterDraft& draft);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_MEASURED_LINKS_H_
