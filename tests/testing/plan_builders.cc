#include "tests/testing/plan_builders.h"

namespace tangram::testing {

std::vector<GpuId> NodeGpus(int node, int count, int first) {
  std::vector<GpuId> gpus;
  for (int i = 0; i < count; ++i) {
    gpus.push_back({.node = node, .index = first + i});
  }
  return gpus;
}

PlacedStage StageOn(int begin_layer, int end_layer,
                    const StageParallelism& parallelism,
                    const std::vector<GpuId>& gpus) {
  return {.plan = {.begin = {begin_layer, 0},
                   .end = {end_layer, 0},
                   .parallelism = parallelism,
                   .recompute = {{.num_layers = end_layer - begin_layer}}},
          .gpus = gpus};
}

PlacedStage MixedOn(int begin_layer, int end_layer, const MixedReplicas& mixed,
                    const std::vector<GpuId>& gpus) {
  PlacedStage stage = StageOn(begin_layer, end_layer, {}, gpus);
  stage.mixed = mixed;
  return stage;
}

}  // namespace tangram::testing
