#ifndef TANGRAM_WEB_VIEW_ALLOCATION_PAGE_H_
#define TANGRAM_WEB_VIEW_ALLOCATION_PAGE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace tangram {

// Returns a page with a plot of a frontier, which is JSON in the format
// tangram.frontier/v1: one HTML file without external resources.
std::string FrontierPage(absl::string_view frontier_json);

}  // namespace tangram

#endif  // TANGRAM_WEB_VIEW_ALLOCATION_PAGE_H_
