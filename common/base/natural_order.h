#ifndef TANGRAM_COMMON_BASE_NATURAL_ORDER_H_
#define TANGRAM_COMMON_BASE_NATURAL_ORDER_H_

#include "absl/strings/string_view.h"

namespace tangram {

// Returns whether `a` comes before `b` in the order in which people number
// things. Runs of digits compare by value, so "node-2" comes before "node-10".
// A strict total order of different names: names with equal values ("node-2",
// "node-02") compare by characters.
bool NaturalLess(absl::string_view a, absl::string_view b);

}  // namespace tangram

#endif  // TANGRAM_COMMON_BASE_NATURAL_ORDER_H_
