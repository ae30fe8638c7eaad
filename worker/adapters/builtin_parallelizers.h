#ifndef TANGRAM_WORKER_ADAPTERS_BUILTIN_PARALLELIZERS_H_
#define TANGRAM_WORKER_ADAPTERS_BUILTIN_PARALLELIZERS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Returns the names of the native parallelizers, sorted.
std::vector<std::string> BuiltinParallelizerNames();

// Returns the work that the parallelizer of that name is based on, for people.
// Empty if the name is not known.
absl::string_view OriginOfBuiltinParallelizer(absl::string_view name);

// Returns whether the answers of the parallelizer depend on
// ParallelizeOptions::max_search_steps. True for names that are not known.
bool ReadsSearchSteps(absl::string_view name);

// Creates the parallelizer of that name, wrapped in a ValidatingParallelizer.
// Returns kInvalidArgument with the known names if there is none.
absl::StatusOr<std::unique_ptr<Parallelizer>> CreateBuiltinParallelizer(
    absl::string_view name);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_BUILTIN_PARALLELIZERS_H_
