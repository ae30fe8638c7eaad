#ifndef TANGRAM_WEB_VIEW_PAGE_TEMPLATE_H_
#define TANGRAM_WEB_VIEW_PAGE_TEMPLATE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace tangram {

// Returns the page built from web/report, without data. Static storage.
absl::string_view PageTemplate();

// Returns the page built from web/live, which fetches its data. Static storage.
absl::string_view LivePage();

// Returns the page built from web/frontier, without data. Static storage.
absl::string_view FrontierTemplate();

// Returns a page without data with `script_safe_json` as its data.
std::string FillPage(absl::string_view page,
                     absl::string_view script_safe_json);

// Returns the report page with `script_safe_json` as its data.
std::string FillPageTemplate(absl::string_view script_safe_json);

}  // namespace tangram

#endif  // TANGRAM_WEB_VIEW_PAGE_TEMPLATE_H_
