#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_ESTIMATES_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_ESTIMATES_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram::v1 {
class Estimates;
}  // namespace tangram::v1

namespace tangram {

// Returns the cost estimates that an adapter program receives, so that it needs
// no cost model of its own. Layers are listed by kind, in order of first
// appearance in the slice.
v1::Estimates EstimatesFor(const ModelSlice& slice, const IslandSpec& island,
                           const ProfileOptions& options);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_ESTIMATES_H_
