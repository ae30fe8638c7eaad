#ifndef TANGRAM_FORMATS_PROFILE_ATTACH_PROFILE_H_
#define TANGRAM_FORMATS_PROFILE_ATTACH_PROFILE_H_

#include "common/domain/cluster.h"
#include "common/domain/device.h"
#include "formats/profile/profile.h"

namespace tangram {

// Adds the measurements to those of `device`, whatever its type; where both
// measured the same, the profile's count.
void AttachProfile(const Profile& profile, DeviceSpec& device);

// The same, to all devices of the profile's type, whose collectives are fitted
// to their nodes. Returns to how many nodes.
int AttachProfile(const Profile& profile, Cluster& cluster);

// Which links of a cluster a profile's take the place of.
enum class LinkScope { kInsideNodes, kBetweenNodes };

// Wires the nodes of the profile's type as it measured. AttachProfile does not:
// who describes a cluster knows its links, and a profile is of another one.
void AttachLinks(const Profile& profile, LinkScope scope, Cluster& cluster);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_PROFILE_ATTACH_PROFILE_H_
