#ifndef TANGRAM_TESTS_UNIT_COMMON_DIFF_DIFFERENCES_H_
#define TANGRAM_TESTS_UNIT_COMMON_DIFF_DIFFERENCES_H_

#include <string>
#include <utility>

#include "cli/diff/difference.h"

namespace tangram::testing {

inline Difference Of(std::string field, DiffValue a, DiffValue b) {
  return {std::move(field), std::move(a), std::move(b)};
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_COMMON_DIFF_DIFFERENCES_H_
