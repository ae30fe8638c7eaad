#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_PARALLELIZER_SPEC_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_PARALLELIZER_SPEC_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/process/process_options.h"

namespace tangram {

// "exec:COMMAND" names a program that is an adapter; anything else is the name
// of a parallelizer that is built in.
bool NamesProgram(absl::string_view spec);

// The parallelizer of that spec, wrapped in a ValidatingParallelizer.
// `limits` is for programs; its command is ignored. kInvalidArgument if there
// is none such.
absl::StatusOr<std::unique_ptr<Parallelizer>> CreateParallelizer(
    absl::string_view spec, ProcessOptions limits = {});

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_PARALLELIZER_SPEC_H_
