#ifndef TANGRAM_COMMON_PARALLELIZER_PARALLELIZER_LIST_H_
#define TANGRAM_COMMON_PARALLELIZER_PARALLELIZER_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tangram {

// Stands for all parallelizers.
inline constexpr absl::string_view kAllParallelizers = "all";
// Stands for those that suit the model and the runtime of the request.
inline constexpr absl::string_view kSuitableParallelizers = "auto";
// Prefix of a command that serves a parallelizer. The command may contain
// commas.
inline constexpr absl::string_view kExecPrefix = "exec:";

// The parallelizers of Tangram itself, sorted. Others are users' own, who know
// better than we what runs their plans.
inline constexpr absl::string_view kNativeParallelizers[] = {
    "aceso", "alpa", "galvatron", "hypertron", "mist", "uniform"};
bool IsNativeParallelizer(absl::string_view name);

// Returns the names in "aceso,mist", in order. kInvalidArgument for an empty or
// repeated name.
absl::StatusOr<std::vector<std::string>> SplitParallelizerList(
    absl::string_view list);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_PARALLELIZER_LIST_H_
