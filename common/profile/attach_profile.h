#ifndef TANGRAM_COMMON_PROFILE_ATTACH_PROFILE_H_
#define TANGRAM_COMMON_PROFILE_ATTACH_PROFILE_H_

#include "common/domain/cluster.h"
#include "common/domain/device.h"
#include "common/profile/profile.h"

namespace tangram {

// Adds the measurements to those of `device`, whatever its type; where both
// measured the same, the profile's count.
void AttachProfile(const Profile& profile, DeviceSpec& device);

// The same, to all devices of the profile's type. Returns to how many nodes.
int AttachProfile(const Profile& profile, Cluster& cluster);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PROFILE_ATTACH_PROFILE_H_
