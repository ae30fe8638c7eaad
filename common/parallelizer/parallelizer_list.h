#ifndef TANGRAM_COMMON_PARALLELIZER_PARALLELIZER_LIST_H_
#define TANGRAM_COMMON_PARALLELIZER_PARALLELIZER_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tangram {

// Stands for every parallelizer there is.
inline constexpr absl::string_view kAllParallelizers = "all";
// What follows is a command that serves a parallelizer, commas included.
inline constexpr absl::string_view kExecPrefix = "exec:";

// The names in "aceso,mist", in order. kInvalidArgument for an empty name and
// for one that is there twice.
absl::StatusOr<std::vector<std::string>> SplitParallelizerList(
    absl::string_view list);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_PARALLELIZER_LIST_H_
