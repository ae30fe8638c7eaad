#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_FIND_GROUPS_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_FIND_GROUPS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/import_cluster/cluster_draft.h"

namespace tangram {

// Returns the indices, rising, of the groups that `scope` names: a group, a GPU
// type or a hostlist of nodes. kNotFound, listing the groups, if it names none.
absl::StatusOr<std::vector<int>> FindGroups(absl::string_view scope,
                                            const ClusterDraft& draft);

// Returns whether FindGroups() failed because the scope is about nodes that the
// user did not choose. Adds a note then that `source` is not used.
bool IsOfOtherNodes(const absl::Status& found, absl::string_view source,
                    ClusterDraft& draft);

// Returns the groups of that name, or else those of that GPU type; may be
// empty.
std::vector<int> GroupsNamed(absl::string_view name, const ClusterDraft& draft);

// Returns "a100, t4".
std::string GroupNames(const ClusterDraft& draft);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_FIND_GROUPS_H_
