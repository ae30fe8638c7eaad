#include "worker/adapters/hypertron/hypertron_adapter.h"

#include "worker/adapters/hypertron/hypertron_search.h"
#include "worker/adapters/hypertron/hypertron_space.h"
#include "worker/adapters/search/layerwise_parallelizer.h"
#include "worker/adapters/search/lower_bounds.h"

namespace tangram {
namespace {

PerformanceProfile Bounds(const ModelSlice& slice, const IslandSpec& island,
                          const ProfileOptions& options) {
  return LayerwiseLowerBounds(slice, island, options, kHypertronDegrees);
}

}  // namespace

std::unique_ptr<Parallelizer> CreateHypertronParallelizer() {
  return CreateLayerwiseParallelizer({.name = "hypertron",
                                      .version = "3",
                                      .features = {.data_parallel = true,
                                                   .pipeline_parallel = true,
                                                   .tensor_parallel = true,
                                                   .context_parallel = true,
                                                   .expert_parallel = true,
                                                   .moe_models = true},
                                      .degrees = kHypertronDegrees,
                                      .bounds = Bounds,
                                      .search = SearchHypertron});
}

}  // namespace tangram
