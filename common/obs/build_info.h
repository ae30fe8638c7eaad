#ifndef TANGRAM_COMMON_OBS_BUILD_INFO_H_
#define TANGRAM_COMMON_OBS_BUILD_INFO_H_

namespace tangram {

// Returns the version, e.g. "0.1.0".
const char* Version();

}  // namespace tangram

#endif  // TANGRAM_COMMON_OBS_BUILD_INFO_H_
