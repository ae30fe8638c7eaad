#include "coordinator/planners/tangram/place_plan.h"

namespace tangram {

std::vector<GpuId> GpusOfIsland(const Island& island, int first, int count) {
  const int per_node = island.spec.gpus_per_node;
  std::vector<GpuId> gpus;
  for (int gpu = first; gpu < first + count; ++gpu) {
    gpus.push_back(
        {.node = island.nodes[gpu / per_node], .index = gpu % per_node});
  }
  return gpus;
}

// Slice plans count layers and GPUs from the start of their slice. Placing adds
// the first layer of the slice, and takes GPUs from the start of the island.
PipelinePlan PlacePlan(const SearchSpace& space, const PairStore& store,
                       const Finalist& finalist) {
  PipelinePlan pipeline{.pipeline_microbatch_size =
                            space.microbatch_sizes[finalist.microbatch]};
  for (const ChosenSlice& slice : finalist.slices) {
    const Island& island = space.islands[slice.island];
    const SlicePlan& plan = store.PlansOf(slice.pair)[slice.plan];
    const int first_layer = space.first_layer[slice.atoms.begin];
    int next_gpu = 0;
    for (const SliceStage& stage : plan.stages) {
      PlacedStage& placed = pipeline.stages.emplace_back(PlacedStage{
          .plan = stage.plan, .island = island.id, .made_by = plan.made_by});
      placed.plan.begin.layer += first_layer;
      placed.plan.end.layer += first_layer;
      const int num_gpus = stage.plan.parallelism.num_gpus();
      placed.gpus = GpusOfIsland(island, next_gpu, num_gpus);
      next_gpu += num_gpus;
    }
  }
  return pipeline;
}

}  // namespace tangram
