#ifndef TANGRAM_COMMON_PARALLELIZER_VALIDATING_PARALLELIZER_H_
#define TANGRAM_COMMON_PARALLELIZER_VALIDATING_PARALLELIZER_H_

#include <memory>

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Wraps any parallelizer, checks arguments and results, and blames the right
// side: bad arguments are kInvalidArgument, a bad answer is kInternal naming
// the adapter and what is wrong with it. Has the wrapped one's name, version
// and features. Thread-safe if the wrapped one is.
std::unique_ptr<Parallelizer> CreateValidatingParallelizer(
    std::unique_ptr<Parallelizer> wrapped);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_VALIDATING_PARALLELIZER_H_
