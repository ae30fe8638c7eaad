#include "web/view/page_template.h"

#include "absl/strings/str_cat.h"
#include "common/base/check.h"

namespace tangram {

std::string FillPageTemplate(absl::string_view script_safe_json) {
  // Occurs once in web/report/index.html.
  constexpr absl::string_view kPlaceholder = "{\"data\":\"goes here\"}";
  const absl::string_view page = PageTemplate();
  const size_t position = page.find(kPlaceholder);
  TANGRAM_CHECK(position != absl::string_view::npos);
  return absl::StrCat(page.substr(0, position), script_safe_json,
                      page.substr(position + kPlaceholder.size()));
}

}  // namespace tangram
