#include "worker/adapters/mist/mist_adapter.h"

#include "worker/adapters/mist/mist_search.h"
#include "worker/adapters/search/layerwise_parallelizer.h"
#include "worker/adapters/search/lower_bounds.h"

namespace tangram {
namespace {

PerformanceProfile Bounds(const ModelSlice& slice, const IslandSpec& island,
                          const ProfileOptions& options) {
  PerformanceProfile profile = LayerwiseLowerBounds(slice, island, options, {});
  // Everything that a layer keeps may be on the host, so 1 byte per layer
  // remains as the bound.
  if (island.device.host.bandwidth_bytes_per_s > 0) {
    profile.min_total_bytes = slice.num_layers();
  }
  return profile;
}

}  // namespace

std::unique_ptr<Parallelizer> CreateMistParallelizer() {
  return CreateLayerwiseParallelizer(
      {.name = "mist",
       .version = "2",
       .features = {.data_parallel = true,
                    .pipeline_parallel = true,
                    .tensor_parallel = true,
                    .gradient_accumulation = true,
                    .recompute = true,
                    .offload = true,
                    .zero = true,
                    .moe_models = true},
       .bounds = Bounds,
       .search = mist::SearchMist});
}

}  // namespace tangram
