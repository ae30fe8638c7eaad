#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_ESTIMATES_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_ESTIMATES_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram::v1 {
class Estimates;
}  // namespace tangram::v1

namespace tangram {

// What an adapter program is told about costs, so that it needs no model of
// them: the layers of the slice by kind, in order of first appearance.
v1::Estimates EstimatesFor(const ModelSlice& slice, const IslandSpec& island,
                           const ProfileOptions& options);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_ESTIMATES_H_
