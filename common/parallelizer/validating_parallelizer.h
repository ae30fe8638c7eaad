#ifndef TANGRAM_COMMON_PARALLELIZER_VALIDATING_PARALLELIZER_H_
#define TANGRAM_COMMON_PARALLELIZER_VALIDATING_PARALLELIZER_H_

#include <memory>

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Wraps any parallelizer and checks arguments and results. Bad arguments are
// kInvalidArgument. A bad answer is kInternal, naming the adapter and the
// fault. Has the name, version and features of the wrapped parallelizer.
// Thread-safe if that is.
std::unique_ptr<Parallelizer> CreateValidatingParallelizer(
    std::unique_ptr<Parallelizer> wrapped);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_VALIDATING_PARALLELIZER_H_
