#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_PARALLELIZER_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_PARALLELIZER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/process/process_options.h"

namespace tangram {

// Creates a parallelizer that runs as a separate program. The program serves
// tangram.v1.Parallelizer on the socket that it is given. Whatever the program
// does, every call returns with an answer or with an error that names the
// adapter. Starts the program; returns kInvalidArgument if it is not an
// adapter.
absl::StatusOr<std::unique_ptr<Parallelizer>> CreateProcessParallelizer(
    ProcessOptions options);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_PARALLELIZER_H_
