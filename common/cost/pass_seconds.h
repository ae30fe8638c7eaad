#ifndef TANGRAM_COMMON_COST_PASS_SECONDS_H_
#define TANGRAM_COMMON_COST_PASS_SECONDS_H_

#include <algorithm>
#include <cmath>

namespace tangram {

// Returns the time of a pass whose kernels occupy the device for `device_s` and
// which the host issues in `host_s`: that of the slower of them, and up to 9 %
// more where both are about as slow. Products last longer than their launch and
// norms do not, so each of the two waits for the other now and then.
//   (device^8 + host^8)^(1/8)
inline double PassSecondsOf(double device_s, double host_s) {
  const double slower_s = std::max(device_s, host_s);
  if (slower_s <= 0) return 0;
  const double share = std::min(device_s, host_s) / slower_s;
  const double share_2 = share * share;
  const double share_4 = share_2 * share_2;
  return slower_s * std::sqrt(std::sqrt(std::sqrt(1 + share_4 * share_4)));
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_PASS_SECONDS_H_
