#ifndef TANGRAM_TESTS_TESTING_RUN_TANGRAM_H_
#define TANGRAM_TESTS_TESTING_RUN_TANGRAM_H_

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/run.h"

namespace tangram::testing {

// Result of a command line.
struct Outcome {
  ExitCode code;
  std::string out;
  std::string err;
};

inline Outcome RunWith(std::vector<std::string> arguments) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{.out = out, .err = err};
  const ExitCode code = RunTangram(std::move(arguments), console);
  return {code, out.str(), err.str()};
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_RUN_TANGRAM_H_
