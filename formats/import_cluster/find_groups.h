#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_FIND_GROUPS_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_FIND_GROUPS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/import_cluster/cluster_draft.h"

namespace tangram {

// Indices of the groups that `scope` names, rising: a group, a GPU type or a
// hostlist of nodes. kNotFound listing the groups if it names none.
absl::StatusOr<std::vector<int>> FindGroups(absl::string_view scope,
                                            const ClusterDraft& draft);

// Whether FindGroups() found none as what it was asked for is about nodes that
// were not asked for: a note says then that `source` is not used.
bool IsOfOtherNodes(const absl::Status& found, absl::string_view source,
                    ClusterDraft& draft);

// Those of that name, or else of that GPU type; none if there are none.
std::vector<int> GroupsNamed(absl::string_view name, const ClusterDraft& draft);

// "a100, t4".
std::string GroupNames(const ClusterDraft& draft);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_FIND_GROUPS_H_
