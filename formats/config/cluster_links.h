#ifndef TANGRAM_FORMATS_CONFIG_CLUSTER_LINKS_H_
#define TANGRAM_FORMATS_CONFIG_CLUSTER_LINKS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "formats/config/config_field.h"
#include "formats/config/group_fields.h"

namespace tangram {

// Returns Cluster::links from the groups' inter_node, the file's `links` and
// its `default_link`. A pair of groups that the file does not mention gets the
// slower of the two inter_node links. Appends to `assumptions` every such pair,
// and the assumptions behind each inter_node link that is used.
absl::StatusOr<std::vector<std::vector<Link>>> ReadLinks(
    const ConfigField& root, absl::Span<const NodeGroup> groups,
    std::vector<Assumption>& assumptions);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_CLUSTER_LINKS_H_
