#include "common/obs/build_info.h"

namespace tangram {

const char* Version() { return TANGRAM_VERSION; }

}  // namespace tangram
