#ifndef TANGRAM_COMMON_DOMAIN_STAGE_PART_H_
#define TANGRAM_COMMON_DOMAIN_STAGE_PART_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// GPUs of a stage that do the same work: all GPUs of a stage of equal replicas,
// or one group of a mixed stage.
struct StagePart {
  StageParallelism parallelism;
  absl::Span<const GpuId> gpus;  // Refers to the stage.
  int samples = 0;               // Its part of a microbatch.
  int num_microbatches = 0;      // Taken in an iteration.
};

// Returns the parts of a stage in a plan with these microbatches. The groups of
// a mixed stage must not have more GPUs than the stage (ValidatePlan).
std::vector<StagePart> PartsOf(const PlacedStage& stage,
                               int pipeline_microbatch_size,
                               int num_microbatches);

// Returns whether some stage of the plan has replicas that differ.
bool HasMixedStages(const PipelinePlan& plan);

// Returns whether the groups of the stage take whole microbatches.
inline bool IsRouted(const PlacedStage& stage) {
  return !stage.mixed.empty() && stage.mixed.sharing == StageSharing::kRouted;
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_STAGE_PART_H_
