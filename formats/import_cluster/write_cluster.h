#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_WRITE_CLUSTER_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_WRITE_CLUSTER_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "formats/import_cluster/cluster_draft.h"

namespace tangram {

// Returns the cluster file of the draft. Comments name the source of each
// value, the values that reading it will assume, and the nodes left out.
std::string WriteCluster(const ClusterDraft& draft,
                         absl::Span<const Assumption> assumptions);

// Returns "down: t4-2, t4-3", one for each reason, in order of first
// appearance.
std::vector<std::string> SkippedByReason(absl::Span<const SkippedNode> skipped);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_WRITE_CLUSTER_H_
