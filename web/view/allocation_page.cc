#include "web/view/allocation_page.h"

#include "common/base/check.h"
#include "web/view/json.h"
#include "web/view/page_template.h"

namespace tangram {

std::string FrontierPage(absl::string_view frontier_json) {
  const Json json =
      Json::parse(frontier_json, nullptr, /*allow_exceptions=*/false);
  TANGRAM_CHECK(json.is_object());
  return FillPage(FrontierTemplate(), ScriptSafeText(json));
}

}  // namespace tangram
