#include "worker/adapters/uniform/uniform_adapter.h"

#include "worker/adapters/search/layerwise_parallelizer.h"
#include "worker/adapters/search/lower_bounds.h"
#include "worker/adapters/uniform/uniform_search.h"

namespace tangram {
namespace {

PerformanceProfile Bounds(const ModelSlice& slice, const IslandSpec& island,
                          const ProfileOptions& options) {
  return LayerwiseLowerBounds(slice, island, options, kUniformDegrees);
}

}  // namespace

std::unique_ptr<Parallelizer> CreateUniformParallelizer() {
  return CreateLayerwiseParallelizer(
      {.name = "uniform",
       .version = "4",
       .features = {.data_parallel = true,
                    .pipeline_parallel = true,
                    .tensor_parallel = true,
                    .expert_parallel = true,
                    .gradient_accumulation = true,
                    .recompute = true,
                    .zero = true,
                    .moe_models = true},
       .degrees = kUniformDegrees,
       .bounds = Bounds,
       .search = SearchUniform});
}

}  // namespace tangram
