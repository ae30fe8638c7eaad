#ifndef TANGRAM_COORDINATOR_AUTH_JSON_TEXT_H_
#define TANGRAM_COORDINATOR_AUTH_JSON_TEXT_H_

#include <string>

#include "nlohmann/json.hpp"

namespace tangram {

// Returns the string under `name` in `object`; empty if there is none, or if it
// is no string.
inline std::string TextOf(const nlohmann::json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_AUTH_JSON_TEXT_H_
