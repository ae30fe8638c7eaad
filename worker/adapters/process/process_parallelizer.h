#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_PARALLELIZER_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_PARALLELIZER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/process/process_options.h"

namespace tangram {

// A parallelizer in a program of its own: any that serves
// tangram.v1.Parallelizer on the socket that it is told. Whatever the program
// does, a call returns, with an answer or an error that has the adapter's name.
// Starts the program: kInvalidArgument if it is none.
absl::StatusOr<std::unique_ptr<Parallelizer>> CreateProcessParallelizer(
    ProcessOptions options);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_PARALLELIZER_H_
