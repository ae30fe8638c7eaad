#include "worker/adapters/galvatron/galvatron_adapter.h"

#include "worker/adapters/galvatron/galvatron_search.h"
#include "worker/adapters/galvatron/galvatron_stages.h"
#include "worker/adapters/search/layerwise_parallelizer.h"
#include "worker/adapters/search/lower_bounds.h"

namespace tangram {
namespace {

PerformanceProfile Bounds(const ModelSlice& slice, const IslandSpec& island,
                          const ProfileOptions& options) {
  return LayerwiseLowerBounds(slice, island, options,
                              galvatron::kGalvatronDegrees);
}

}  // namespace

std::unique_ptr<Parallelizer> CreateGalvatronParallelizer() {
  return CreateLayerwiseParallelizer(
      {.name = "galvatron",
       .version = "2",
       .features = {.data_parallel = true,
                    .pipeline_parallel = true,
                    .tensor_parallel = true,
                    .context_parallel = true,
                    .gradient_accumulation = true,
                    .recompute = true,
                    .zero = true,
                    .moe_models = true},
       .degrees = galvatron::kGalvatronDegrees,
       .bounds = Bounds,
       .search = galvatron::SearchGalvatron});
}

}  // namespace tangram
