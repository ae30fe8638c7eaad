#include "common/domain/stage_part.h"

#include <algorithm>
#include <cstddef>

namespace tangram {

std::vector<StagePart> PartsOf(const PlacedStage& stage,
                               int pipeline_microbatch_size,
                               int num_microbatches) {
  if (stage.mixed.empty()) {
    return {{.parallelism = stage.plan.parallelism,
             .gpus = stage.gpus,
             .samples = pipeline_microbatch_size,
             .num_microbatches = num_microbatches}};
  }
  const bool routed = IsRouted(stage);
  const absl::Span<const GpuId> gpus = stage.gpus;
  std::vector<StagePart> parts;
  size_t first = 0;
  for (const ReplicaGroup& group : stage.mixed.groups) {
    const size_t count = group.parallelism.num_gpus();
    parts.push_back(
        {.parallelism = group.parallelism,
         .gpus = gpus.subspan(first, count),
         .samples = routed ? pipeline_microbatch_size : group.share,
         .num_microbatches = routed ? group.share : num_microbatches});
    first += count;
  }
  return parts;
}

bool HasMixedStages(const PipelinePlan& plan) {
  return std::any_of(plan.stages.begin(), plan.stages.end(),
                     [](const PlacedStage& s) { return !s.mixed.empty(); });
}

}  // namespace tangram
