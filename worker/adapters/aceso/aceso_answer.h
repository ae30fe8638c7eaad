#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_ANSWER_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_ANSWER_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram::aceso {

// Answers one query, which must be well-formed. Returns the best plan of each
// stage count and its variants for more trailing stages, without dominated
// plans.
SlicePlanSet SearchAllStageCounts(const ModelSlice& slice,
                                  const IslandSpec& island,
                                  const ParallelizeOptions& options);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_ANSWER_H_
