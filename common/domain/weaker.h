#ifndef TANGRAM_COMMON_DOMAIN_WEAKER_H_
#define TANGRAM_COMMON_DOMAIN_WEAKER_H_

#include "common/domain/cluster.h"
#include "common/domain/device.h"

namespace tangram {

// Returns a device that stands for two devices that work in step. Each field is
// the weaker one's, because collectives make the faster device wait for the
// slower. Measurements are kept only if both devices have them; the cost model
// replaces the others. The type is `a`'s.
DeviceSpec Weaker(const DeviceSpec& a, const DeviceSpec& b);

// Returns the same for two links that one collective uses.
Link Weaker(const Link& a, const Link& b);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_WEAKER_H_
