#ifndef TANGRAM_FRAMEWORKS_LAYER_PATTERN_H_
#define TANGRAM_FRAMEWORKS_LAYER_PATTERN_H_

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"

namespace tangram {

// Evaluates a Python list such as "([0]*3+[1]*58)" or "([1,0])*4", which is how
// Megatron-LM's options describe layers. nullopt if it is none, or longer than
// `max_size`.
std::optional<std::vector<int>> EvaluatePattern(absl::string_view text,
                                                size_t max_size);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_LAYER_PATTERN_H_
