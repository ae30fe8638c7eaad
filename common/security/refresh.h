#ifndef TANGRAM_COMMON_SECURITY_REFRESH_H_
#define TANGRAM_COMMON_SECURITY_REFRESH_H_

namespace tangram {

// Seconds between checks whether files with keys have changed.
inline constexpr unsigned kRefreshIntervalS = 1;

}  // namespace tangram

#endif  // TANGRAM_COMMON_SECURITY_REFRESH_H_
