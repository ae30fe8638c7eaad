#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_PARALLELIZER_SPEC_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_PARALLELIZER_SPEC_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/process/process_options.h"

namespace tangram {

// Returns whether a spec names an adapter program, "exec:COMMAND". Every other
// spec is the name of a built-in parallelizer.
bool NamesProgram(absl::string_view spec);

// Creates the parallelizer of a spec, wrapped in a ValidatingParallelizer.
// `limits` applies to programs; its command is ignored. Returns
// kInvalidArgument if there is no such parallelizer.
absl::StatusOr<std::unique_ptr<Parallelizer>> CreateParallelizer(
    absl::string_view spec, ProcessOptions limits = {});

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_PARALLELIZER_SPEC_H_
