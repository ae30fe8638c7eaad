#include "worker/adapters/alpa/alpa_adapter.h"

#include "worker/adapters/alpa/alpa_search.h"
#include "worker/adapters/search/layerwise_parallelizer.h"
#include "worker/adapters/search/lower_bounds.h"

namespace tangram {
namespace {

PerformanceProfile Bounds(const ModelSlice& slice, const IslandSpec& island,
                          const ProfileOptions& options) {
  return LayerwiseLowerBounds(slice, island, options, {.ep = true});
}

}  // namespace

std::unique_ptr<Parallelizer> CreateAlpaParallelizer() {
  return CreateLayerwiseParallelizer({.name = "alpa",
                                      .version = "3",
                                      .features = {.data_parallel = true,
                                                   .pipeline_parallel = true,
                                                   .tensor_parallel = true,
                                                   .expert_parallel = true,
                                                   .moe_models = true},
                                      .degrees = {.ep = true},
                                      .bounds = Bounds,
                                      .search = alpa::SearchPipelines});
}

}  // namespace tangram
