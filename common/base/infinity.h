#ifndef TANGRAM_COMMON_BASE_INFINITY_H_
#define TANGRAM_COMMON_BASE_INFINITY_H_

#include <limits>

namespace tangram {

// The cost of what cannot be done; nothing is greater.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace tangram

#endif  // TANGRAM_COMMON_BASE_INFINITY_H_
