#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_ANSWER_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_ANSWER_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram::aceso {

// The answer to one query, which is known to be well-formed: the best plan of
// each stage count and its variants for more trailing stages, as far as they
// are not dominated.
SlicePlanSet SearchAllStageCounts(const ModelSlice& slice,
                                  const IslandSpec& island,
                                  const ParallelizeOptions& options);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_ANSWER_H_
