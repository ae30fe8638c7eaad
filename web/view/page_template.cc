#include "web/view/page_template.h"

#include "absl/strings/str_cat.h"
#include "common/base/check.h"

namespace tangram {

std::string FillPageTemplate(absl::string_view script_safe_json) {
  return FillPage(PageTemplate(), script_safe_json);
}

std::string FillPage(absl::string_view page,
                     absl::string_view script_safe_json) {
  // Occurs once in the index.html of each page with data.
  constexpr absl::string_view kPlaceholder = "{\"data\":\"goes here\"}";
  const size_t position = page.find(kPlaceholder);
  TANGRAM_CHECK(position != absl::string_view::npos);
  return absl::StrCat(page.substr(0, position), script_safe_json,
                      page.substr(position + kPlaceholder.size()));
}

}  // namespace tangram
