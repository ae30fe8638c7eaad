#ifndef TANGRAM_CLI_RUNNER_FIND_RUNNER_H_
#define TANGRAM_CLI_RUNNER_FIND_RUNNER_H_

#include <string>

#include "absl/status/statusor.h"

namespace tangram {

// Returns the path of this program; empty if the system does not say.
std::string OwnProgram();

// Returns the folder of the reference runtime: $TANGRAM_RUNNER, else
// ../share/tangram/runner beside this program's folder. kNotFound says where it
// was expected.
absl::StatusOr<std::string> FindRunner();

// Returns a Python that has PyTorch: $TANGRAM_PYTHON, else the first of python3
// and /usr/bin/python3 that has it. kNotFound says how to install it.
absl::StatusOr<std::string> FindPythonWithTorch();

}  // namespace tangram

#endif  // TANGRAM_CLI_RUNNER_FIND_RUNNER_H_
