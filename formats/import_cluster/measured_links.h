#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_MEASURED_LINKS_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_MEASURED_LINKS_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "formats/import_cluster/cluster_draft.h"
#include "formats/import_cluster/read_sources.h"

namespace tangram {

// Sets the links that nccl-tests measured. A run in one node is of the link
// inside it, a run over nodes of one group of the link between them, one over
// two groups of the link that joins those; two GPUs, or one in each node, give
// the bandwidth of a pair. Of several runs the one over most GPUs counts. What
// a run leaves open of its link is filled from the catalogue.
absl::Status SetMeasuredLinks(absl::Span<const ScopedRun> runs,
                              ClusterDraft& draft);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_MEASURED_LINKS_H_
