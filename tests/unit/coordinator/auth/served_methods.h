#ifndef TANGRAM_TESTS_UNIT_COORDINATOR_AUTH_SERVED_METHODS_H_
#define TANGRAM_TESTS_UNIT_COORDINATOR_AUTH_SERVED_METHODS_H_

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace tangram::testing {

// Returns paths of methods, e.g. "/tangram.v1.Jobs/GetJob".
inline std::vector<std::string> MethodsOf(const std::filesystem::path& proto) {
  std::ifstream file(proto);
  std::vector<std::string> methods;
  std::string service;
  std::string line;
  while (std::getline(file, line)) {
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" ("), absl::SkipEmpty());
    if (words.size() < 2) continue;
    if (words[0] == "service") service = words[1];
    if (words[0] == "rpc") {
      methods.push_back(absl::StrCat("/tangram.v1.", service, "/", words[1]));
    }
  }
  return methods;
}

// Returns the methods of all services except that of adapter programs.
inline std::vector<std::string> ServedMethods() {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(
           TANGRAM_SOURCE_DIR "/proto/tangram/v1")) {
    const std::string name = entry.path().filename();
    if (!absl::EndsWith(name, "_service.proto") ||
        name == "parallelizer_service.proto") {
      continue;
    }
    const std::vector<std::string> methods = MethodsOf(entry.path());
    EXPECT_FALSE(methods.empty()) << name;
    all.insert(all.end(), methods.begin(), methods.end());
  }
  return all;
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_COORDINATOR_AUTH_SERVED_METHODS_H_
