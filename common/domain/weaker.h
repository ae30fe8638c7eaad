#ifndef TANGRAM_COMMON_DOMAIN_WEAKER_H_
#define TANGRAM_COMMON_DOMAIN_WEAKER_H_

#include "common/domain/cluster.h"
#include "common/domain/device.h"

namespace tangram {

// What two devices that work in step can be taken for: each field is the
// weaker one's, since collectives make the faster device wait for the slower.
// Of measurements, only what both have: the cost model stands for the others.
// The type is `a`'s.
DeviceSpec Weaker(const DeviceSpec& a, const DeviceSpec& b);

// Likewise of two links that one collective uses.
Link Weaker(const Link& a, const Link& b);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_WEAKER_H_
