#ifndef TANGRAM_FORMATS_EXPORT_PROFILE_JSON_TEXT_H_
#define TANGRAM_FORMATS_EXPORT_PROFILE_JSON_TEXT_H_

#include <string>

#include "nlohmann/json.hpp"

namespace tangram {

// Returns `json` as the text of a file. Names may hold bytes that are not
// UTF-8; these are replaced.
inline std::string JsonText(const nlohmann::ordered_json& json) {
  return json.dump(1, ' ', /*ensure_ascii=*/false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace tangram

#endif  // TANGRAM_FORMATS_EXPORT_PROFILE_JSON_TEXT_H_
