#ifndef TANGRAM_FRAMEWORKS_JSON_LINES_H_
#define TANGRAM_FRAMEWORKS_JSON_LINES_H_

#include <string>

#include "nlohmann/json.hpp"

namespace tangram {

// Writes a JSON object with a line for each key, so that a list of hundreds of
// operators stays on one line.
inline std::string JsonLines(const nlohmann::ordered_json& object) {
  std::string text = "{\n";
  size_t left = object.size();
  for (const auto& [key, value] : object.items()) {
    text += "  \"" + key + "\": " + value.dump() + (--left > 0 ? ",\n" : "\n");
  }
  return text + "}\n";
}

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_JSON_LINES_H_
