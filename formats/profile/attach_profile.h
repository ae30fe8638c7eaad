#ifndef TANGRAM_FORMATS_PROFILE_ATTACH_PROFILE_H_
#define TANGRAM_FORMATS_PROFILE_ATTACH_PROFILE_H_

#include "common/domain/cluster.h"
#include "common/domain/device.h"
#include "formats/profile/profile.h"

namespace tangram {

// Adds the profile's measurements to those of `device`, whatever its type. They
// replace earlier measurements of the same thing.
void AttachProfile(const Profile& profile, DeviceSpec& device);

// Does the same to all devices of the profile's type, and fits the collectives
// to their nodes. Returns the number of such nodes.
int AttachProfile(const Profile& profile, Cluster& cluster);

// Returns the profile without what it says of memory, which is another
// framework's: bytes of activations, of model state and of the runtime.
Profile WithoutMemory(Profile profile);

// The links of a cluster that a profile's links replace.
enum class LinkScope { kInsideNodes, kBetweenNodes };

// Sets the links of the profile's type of node to those it measured.
// AttachProfile does not do so: the author of a cluster file knows its links,
// and the profile is of another cluster.
void AttachLinks(const Profile& profile, LinkScope scope, Cluster& cluster);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_PROFILE_ATTACH_PROFILE_H_
