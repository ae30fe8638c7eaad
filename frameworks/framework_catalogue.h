#ifndef TANGRAM_FRAMEWORKS_FRAMEWORK_CATALOGUE_H_
#define TANGRAM_FRAMEWORKS_FRAMEWORK_CATALOGUE_H_

#include "common/planner/runtime_catalogue.h"

namespace tangram {

// The table of frameworks, for planners. Never destroyed.
const RuntimeCatalogue& FrameworkCatalogue();

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_FRAMEWORK_CATALOGUE_H_
