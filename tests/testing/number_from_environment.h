#ifndef TANGRAM_TESTS_TESTING_NUMBER_FROM_ENVIRONMENT_H_
#define TANGRAM_TESTS_TESTING_NUMBER_FROM_ENVIRONMENT_H_

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "gtest/gtest.h"

namespace tangram::testing {

// Returns the number in an environment variable, by which a test runs more or
// fewer cases; `usual` if it is not set. Fails the test if it is no
// number.
inline int NumberFromEnvironment(const char* variable, int usual) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  int number = usual;
  if (text != nullptr && !absl::SimpleAtoi(text, &number)) {
    ADD_FAILURE() << variable << ": " << text << "; expected a number";
  }
  return number;
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_NUMBER_FROM_ENVIRONMENT_H_
