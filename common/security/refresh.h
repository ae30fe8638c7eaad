#ifndef TANGRAM_COMMON_SECURITY_REFRESH_H_
#define TANGRAM_COMMON_SECURITY_REFRESH_H_

namespace tangram {

// How often files with keys are looked at for changes.
inline constexpr unsigned kRefreshIntervalS = 1;

}  // namespace tangram

#endif  // TANGRAM_COMMON_SECURITY_REFRESH_H_
