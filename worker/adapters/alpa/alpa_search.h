#ifndef TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SEARCH_H_
#define TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SEARCH_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram::alpa {

// The answer to one query, which is known to be well-formed: for each number
// of stages the pipelines of SolveInterOperator, and for a few more trailing
// stages what they leave to be answered, as far as they are not dominated. The
// space is searched whole, so that ParallelizeOptions::max_search_steps is not
// read; a step is one partial pipeline.
SlicePlanSet SearchPipelines(const ModelSlice& slice, const IslandSpec& island,
                             const ParallelizeOptions& options);

}  // namespace tangram::alpa

#endif  // TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SEARCH_H_
