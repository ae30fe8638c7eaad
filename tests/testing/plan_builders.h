#ifndef TANGRAM_TESTS_TESTING_PLAN_BUILDERS_H_
#define TANGRAM_TESTS_TESTING_PLAN_BUILDERS_H_

#include <vector>

#include "common/domain/cluster.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/stage_plan.h"

namespace tangram::testing {

// Returns the GPUs [first, first + count) of one node.
std::vector<GpuId> NodeGpus(int node, int count, int first = 0);

// Returns a stage of layers [begin, end) on `gpus` without recomputation.
PlacedStage StageOn(int begin_layer, int end_layer,
                    const StageParallelism& parallelism,
                    const std::vector<GpuId>& gpus);

// Returns a mixed stage of layers [begin, end) without recomputation.
PlacedStage MixedOn(int begin_layer, int end_layer, const MixedReplicas& mixed,
                    const std::vector<GpuId>& gpus);

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_PLAN_BUILDERS_H_
