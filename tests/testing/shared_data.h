#ifndef TANGRAM_TESTS_TESTING_SHARED_DATA_H_
#define TANGRAM_TESTS_TESTING_SHARED_DATA_H_

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "nlohmann/json.hpp"

namespace tangram::testing {

inline constexpr char kNoSharedData[] =
    "TANGRAM_SHARED_DATA names no folder with this file";

// Reads a JSON file below the folder of answers of other programs. Empty if
// there is none.
inline std::optional<nlohmann::json> ReadSharedData(const std::string& file) {
  const char* folder =
      std::getenv("TANGRAM_SHARED_DATA");  // NOLINT(concurrency-mt-unsafe)
  if (folder == nullptr) return std::nullopt;
  std::ifstream in(std::string(folder) + "/" + file);
  if (!in) return std::nullopt;
  return nlohmann::json::parse(in);
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_SHARED_DATA_H_
