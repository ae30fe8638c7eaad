#ifndef TANGRAM_WORKER_ADAPTERS_BUILTIN_PARALLELIZERS_H_
#define TANGRAM_WORKER_ADAPTERS_BUILTIN_PARALLELIZERS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Names of the native parallelizers, sorted.
std::vector<std::string> BuiltinParallelizerNames();

// What the parallelizer of that name goes back to, for people; empty if it is
// not known.
absl::string_view OriginOfBuiltinParallelizer(absl::string_view name);

// The parallelizer of that name, wrapped in a ValidatingParallelizer.
// kInvalidArgument listing the known names.
absl::StatusOr<std::unique_ptr<Parallelizer>> CreateBuiltinParallelizer(
    absl::string_view name);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_BUILTIN_PARALLELIZERS_H_
