#ifndef TANGRAM_TESTS_PARITY_REFERENCE_DATA_H_
#define TANGRAM_TESTS_PARITY_REFERENCE_DATA_H_

#include <zlib.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "nlohmann/json.hpp"

namespace tangram::testing {

inline constexpr char kNoReferenceData[] =
    "TANGRAM_REFERENCE_DATA names no folder with this file";

// Reads a file below the folder of reference data, gzipped or not. Returns
// empty if there is none.
inline std::optional<std::string> ReadReferenceText(const std::string& file) {
  const char* folder =
      std::getenv("TANGRAM_REFERENCE_DATA");  // NOLINT(concurrency-mt-unsafe)
  if (folder == nullptr) return std::nullopt;
  const gzFile in = gzopen((std::string(folder) + "/" + file).c_str(), "rb");
  if (in == nullptr) return std::nullopt;
  std::string text;
  char buffer[1 << 16];
  for (int n = 0; (n = gzread(in, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, n);
  }
  gzclose(in);
  return text;
}

inline std::optional<nlohmann::json> ReadReferenceData(
    const std::string& file) {
  const auto text = ReadReferenceText(file);
  if (!text) return std::nullopt;
  return nlohmann::json::parse(*text);
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_PARITY_REFERENCE_DATA_H_
