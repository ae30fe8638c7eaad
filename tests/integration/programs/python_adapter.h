#ifndef TANGRAM_TESTS_INTEGRATION_PROGRAMS_PYTHON_ADAPTER_H_
#define TANGRAM_TESTS_INTEGRATION_PROGRAMS_PYTHON_ADAPTER_H_

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"

namespace tangram::testing {

// Returns whether Python has the packages that tangram_adapter needs.
inline bool PythonHasGrpc() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  return std::system(
             "/usr/bin/python3 -c 'import grpc, google.protobuf' "
             "2>/dev/null") == 0;
}

// Returns the command that runs a program of the repository with that package.
inline std::string PythonCommand(const std::string& program) {
  return absl::StrCat(
      "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=", TANGRAM_BINARY_DIR "/python:",
      TANGRAM_SOURCE_DIR "/clients/python ", "/usr/bin/python3 ",
      TANGRAM_SOURCE_DIR "/", program);
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_INTEGRATION_PROGRAMS_PYTHON_ADAPTER_H_
