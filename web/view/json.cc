#include "web/view/json.h"

#include "absl/strings/str_replace.h"

namespace tangram {

std::string ScriptSafeText(const Json& json) {
  const std::string text =
      json.dump(/*indent=*/-1, /*indent_char=*/' ', /*ensure_ascii=*/true,
                Json::error_handler_t::replace);
  // In JSON these characters occur only inside strings.
  return absl::StrReplaceAll(
      text, {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}});
}

}  // namespace tangram
