#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_OWN_CLUSTER_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_OWN_CLUSTER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/config/document.h"
#include "formats/import_cluster/cluster_draft.h"
#include "formats/import_cluster/import_cluster.h"

namespace tangram {

// The user's own cluster file, parsed. It may be a part of one: what it does
// not say is the inventory's.
struct OwnFile {
  std::string name;
  std::string folder;
  ConfigValue root;
};

absl::StatusOr<OwnFile> ParseOwnFile(const OwnCluster& own);

// The GPU types of its groups.
std::vector<std::string> GpuTypesOf(const OwnFile& own);

// Puts what it says over what is in the draft. A group without `nodes` is about
// the imported group of its name, or about all of its GPU type; with `nodes` it
// is one more group. Links between groups may name GPU types too.
// kInvalidArgument if a group is about none; of a part of a cluster a note, as
// the file may be about all of it.
absl::Status MergeOwnFile(const OwnFile& own, ClusterDraft& draft);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_OWN_CLUSTER_H_
