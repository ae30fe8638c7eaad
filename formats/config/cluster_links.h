#ifndef TANGRAM_FORMATS_CONFIG_CLUSTER_LINKS_H_
#define TANGRAM_FORMATS_CONFIG_CLUSTER_LINKS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "formats/config/config_field.h"
#include "formats/config/group_fields.h"

namespace tangram {

// Cluster::links from the groups' inter_node, the file's `links` and its
// `default_link`. A pair of groups that the file says nothing of gets the
// slower of the two inter_node links, which is recorded in `assumptions`, as
// is what each group assumed of an inter_node link that is used.
absl::StatusOr<std::vector<std::vector<Link>>> ReadLinks(
    const ConfigField& root, absl::Span<const NodeGroup> groups,
    std::vector<Assumption>& assumptions);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_CLUSTER_LINKS_H_
