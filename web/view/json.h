#ifndef TANGRAM_WEB_VIEW_JSON_H_
#define TANGRAM_WEB_VIEW_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

namespace tangram {

// Members stay in the order in which they were added.
using Json = nlohmann::ordered_json;

// JSON that can stand inside an HTML script element whatever its strings say:
// in ASCII, with every '<', '>' and '&' escaped, so that "</script>" and "<!--"
// are none. What is no UTF-8 becomes U+FFFD.
std::string ScriptSafeText(const Json& json);

}  // namespace tangram

#endif  // TANGRAM_WEB_VIEW_JSON_H_
