#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_OWN_CLUSTER_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_OWN_CLUSTER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/config/document.h"
#include "formats/import_cluster/cluster_draft.h"
#include "formats/import_cluster/import_cluster.h"

namespace tangram {

// The user's own cluster file, parsed. It may be incomplete: the inventory
// supplies what it leaves out.
struct OwnFile {
  std::string name;
  std::string folder;
  ConfigValue root;
};

absl::StatusOr<OwnFile> ParseOwnFile(const OwnCluster& own);

// Returns the GPU types of its groups.
std::vector<std::string> GpuTypesOf(const OwnFile& own);

// Lays the values of the file over those of the draft. A group without `nodes`
// describes the imported group of its name, or all groups of its GPU type; with
// `nodes` it is one more group. Links between groups may name GPU types too.
// kInvalidArgument for a group that matches nothing. If the user chose only
// some nodes it is a note, because the file may describe the whole cluster.
absl::Status MergeOwnFile(const OwnFile& own, ClusterDraft& draft);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_OWN_CLUSTER_H_
