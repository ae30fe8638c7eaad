#ifndef TANGRAM_WEB_VIEW_JSON_H_
#define TANGRAM_WEB_VIEW_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

namespace tangram {

// Members stay in the order in which they were added.
using Json = nlohmann::ordered_json;

// Returns JSON that is safe inside an HTML script element, whatever its strings
// contain. It is ASCII with every '<', '>' and '&' escaped, so that "</script>"
// and "<!--" cannot occur. Bytes that are not UTF-8 become U+FFFD.
std::string ScriptSafeText(const Json& json);

}  // namespace tangram

#endif  // TANGRAM_WEB_VIEW_JSON_H_
